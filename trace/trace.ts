/** W3C Trace Context as headers of a record: `traceparent`, and `tracestate` where there is one. Empty: nothing goes on. */
export type TraceHeaders = Readonly<Record<string, string>>

/** Ids and outcomes; never what users or receivers said, nor URLs, whose path and query may hold a secret. */
export type Attributes = Readonly<Record<string, string | number>>

/** A piece of work in a trace. What it sends to Kafka and posts belongs to it. */
export type Trace = {
  /** In a record they let the trace go on from here. */
  headers: TraceHeaders
  /** Records are handed to Kafka; `topic`: the first one's, as named on the broker. */
  send(topic: string, records: number): Sending
  /** A POST begins. @returns what is to be told how it ended. */
  post(post: Post): (posted: { outcome: string; status: number | null; code: string | null }) => void
  note(attributes: Attributes): void
  /** Only the first call counts. `error`: why it failed, one of few codes. */
  end(error?: string): void
}

export type Sending = {
  /** For each of the records. */
  headers: TraceHeaders
  /** `acked`, or what Kafka did not do. */
  end(outcome: string): void
}

/** `origin`: scheme, host and port of its URL. `attempt`: from 1. */
export type Post = { origin: string; urlIndex: number; destinationId: string; attempt: number }

/** A request of a client. Left without an answer it has failed. */
export type RequestTrace = Pick<Trace, 'send' | 'note'> &
  Disposable & {
    answered(answer: { code: string; status: number }): void
    /** The client did not wait. */
    gone(): void
  }

/** A record as the Kafka client hands it over. */
export type Processed = {
  /** As named on the broker, as is `group`. */
  topic: string
  group: string
  partition: number
  offset: number
  headers: RecordHeaders | undefined
  /** Asked for only where somebody will see it. */
  describe?: (() => Attributes) | undefined
}

type Value = Buffer | string | undefined
export type RecordHeaders = Readonly<Record<string, Value | Value[]>>

/** Where traces are on, what a process tells of its work; where they are off there is none (see `openTracer`). */
export type Tracer = {
  /** Begins a trace. `traceparent`: as the client sent it. */
  request(call: { method: string; route: string; traceparent: unknown }): RequestTrace
  /** Goes on with the trace that the record carries, or begins one. */
  process(record: Processed): Trace
  /** Begins a trace, with a link to the one that the record carries. */
  processAnew(record: Processed): Trace
  /** Exports what has ended, for a bounded time. */
  close(): Promise<void>
}

const CARRIED = ['traceparent', 'tracestate'] as const

/** What of a record's headers has to go along where the record is only moved. */
export function carried(headers: RecordHeaders | undefined): Record<string, Buffer | string> {
  const kept: Record<string, Buffer | string> = {}
  for (const name of CARRIED) {
    const [value] = [headers?.[name]].flat()
    if (value) kept[name] = value
  }
  return kept
}
