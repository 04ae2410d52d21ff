import type { Storage } from '../kafka/admin/storage.ts'
import {
  type ConsumerRecord,
  type Handler,
  type Hold,
  holdFor,
  type Message,
} from '../kafka/consume/record.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import { DELIVERIES_RETENTION, DUE, rungDelay } from '../schemas/topics.ts'
import { carried } from '../trace/trace.ts'

/** Synchronized clocks differ by less than this. */
const SKEW_MS = 1_000
const SHORTAGE_HOLD_MS = 1_000
/** For records on their way to rungs and back. */
const MAX_QUEUED_BYTES = 32 * 1024 * 1024
const QUEUE_HOLD_MS = 100

/**
 * Moves records unchanged to `deliveries.due` when they are due, and settles them when Kafka has the copy. They are due
 * in order, except for batched deferrals, so one that is not due holds its partition. While Kafka is short of storage,
 * all wait: each retry that fails writes its delivery again, and Kafka exits when its disk is full.
 */
export function rungs(
  producer: Pick<Producer, 'produce' | 'queuedBytes'>,
  storage: Pick<Storage, 'shortage'>,
): Handler<Buffer> {
  return (record, message) => {
    const dueAt = Number(message.headers?.dueAt?.toString())
    const next = nextMove(record, dueAt, Date.now())
    if ('holdUntil' in next) return next
    const full = storage.shortage() ? holdFor(SHORTAGE_HOLD_MS) : queueHold(producer)
    if (full) return full
    move(record, message, next)
    return
  }

  function move(record: ConsumerRecord<Buffer>, message: Message, { topic, headers }: Move): void {
    const { key, value } = record
    const moved: OutRecord = { topic, key, value, headers: { ...carried(message.headers), ...headers } }
    void producer.produce([moved]).then((outcome) => {
      if (outcome === 'acked') record.settle()
      else if (outcome === 'unknown') record.release()
      else record.park(message, `cannot be moved to ${topic}: ${outcome}`)
    })
  }
}

/** While too much waits for Kafka. */
export const queueHold = (producer: Pick<Producer, 'queuedBytes'>): Hold | undefined =>
  producer.queuedBytes() > MAX_QUEUED_BYTES ? holdFor(QUEUE_HOLD_MS) : undefined

type Move = { topic: string; headers?: { dueAt: string } }

/** A record that waits longer than its rung was written under a fast clock: it goes to the end. */
function nextMove(
  { topic, timestamp }: Pick<ConsumerRecord<Buffer>, 'topic' | 'timestamp'>,
  given: number,
  now: number,
): Move | { holdUntil: number } {
  const delayMs = rungDelay(topic)
  // no record of Sluice waits longer; one of another program could hold the partition for days
  const dueAt = delayMs === 0 ? given : Math.min(given, timestamp + delayMs + SKEW_MS)
  // due at once if the time is implausible: missing, or after the record is deleted
  if (!(given < timestamp + DELIVERIES_RETENTION && dueAt > now)) return { topic: DUE }
  if (delayMs === 0 || dueAt <= now + delayMs + SKEW_MS) return { holdUntil: dueAt }
  return { topic, headers: { dueAt: String(now + delayMs) } }
}

/** Values are moved without being decoded. */
export const bytes = {
  decode: (value: Buffer | null) =>
    value === null
      ? { ok: false as const, reason: 'undecodable' as const, message: 'the value is null' }
      : { ok: true as const, value },
}
