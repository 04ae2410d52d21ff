import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'

/** W3C Trace Context: `traceparent`, and `tracestate` if there is one. Empty without a trace. */
export type TraceHeaders = Readonly<Record<string, string>>

/** Ids and outcomes. No contents, and no URLs, which may be secret. */
export type Attributes = Readonly<Record<string, string | number>>

export type Trace = {
  headers: TraceHeaders
  /** @param topic of the first record, as named on the broker. */
  send(topic: string, records: number): Sending
  /** @returns a function that ends the span. */
  post(post: Post): (result: { outcome: string; status: number | null; code: string | null }) => void
  note(attributes: Attributes): void
  /** Only the first call counts. `error`: why it failed, one of few codes. */
  end(error?: string): void
}

export type Sending = {
  headers: TraceHeaders
  end(outcome: string): void
}

/** `origin`: scheme, host and port. `attempt`: from 1. */
export type Post = { origin: string; urlIndex: number; destinationId: string; attempt: number }

/** It counts as failed if it is disposed without an answer. */
export type RequestTrace = Pick<Trace, 'headers' | 'send' | 'note'> &
  Disposable & {
    answered(answer: { code: string; status: number }): void
    gone(): void
  }

export type Processed = {
  /** As named on the broker, as is `group`. */
  topic: string
  group: string
  partition: number
  offset: number
  headers: RecordHeaders | undefined
  describe?: (() => Attributes) | undefined
}

type Value = Buffer | string | undefined
export type RecordHeaders = Readonly<Record<string, Value | Value[]>>

/** There is none while traces are off. */
export type Tracer = {
  request(call: { method: string; route: string; traceparent: unknown }): RequestTrace
  /** Continues the trace that the record carries, or begins one. */
  process(record: Processed): Trace
  /** Begins a trace with a link to the one that the record carries. */
  processLinked(record: Processed): Trace
  close(): Promise<void>
}

const CARRIED = ['traceparent', 'tracestate'] as const

/** The headers that keep a moved record in its trace. */
export function carried(headers: RecordHeaders | undefined): Record<string, Buffer | string> {
  const found: Record<string, Buffer | string> = {}
  for (const name of CARRIED) {
    const [value] = [headers?.[name]].flat()
    if (value) found[name] = value
  }
  return found
}

export const ofEvent = ({ sourceId, messageId, type }: Event): Attributes => ({
  'sluice.source.id': sourceId,
  'sluice.message.id': messageId,
  'sluice.event.type': type,
})

export const ofDelivery = (delivery: Delivery): Attributes => ({
  'sluice.source.id': delivery.sourceId,
  'sluice.message.id': delivery.messageId,
  'sluice.event.type': delivery.type,
  'sluice.destination.id': delivery.destinationId,
  'sluice.delivery.id': delivery.deliveryId,
  'sluice.attempt': delivery.attempt + 1,
})
