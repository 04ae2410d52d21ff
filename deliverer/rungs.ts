import type { Handler, Message, Taken } from '../kafka/consume/record.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import { DELIVERIES_RETENTION, DUE, rungDelay } from '../schemas/topics.ts'
import { carried } from '../trace/trace.ts'

/** Clocks that are kept right differ by less. */
const SKEW_MS = 1_000

/**
 * Rungs only move time: records of a rung all wait equally long, so they are due in their order (but for the moment for which
 * deferrals are gathered). The head that is not due holds its partition; one that is goes to `deliveries.due` as it is, and is
 * settled when Kafka has it there.
 */
export function rungs(producer: Pick<Producer, 'produce'>): Handler<Buffer> {
  return (record, message) => {
    const dueAt = Number(message.headers?.dueAt?.toString())
    const place = placeOf(record, dueAt, Date.now())
    if ('holdUntil' in place) return place
    move(record, message, place)
    return
  }

  function move(record: Taken<Buffer>, message: Message, { topic, headers }: Place): void {
    const { key, value } = record
    const moved: OutRecord = { topic, key, value, headers: { ...carried(message.headers), ...headers } }
    void producer.produce([moved]).then((outcome) => {
      if (outcome === 'acked') record.settle()
      else if (outcome === 'unknown') record.release()
      else record.park(message, `cannot be moved to ${topic}: ${outcome}`)
    })
  }
}

type Place = { topic: string; headers?: { dueAt: string } }

/** What is longer than its rung was written by a clock that is ahead of this one: it waits anew, by this one, behind what it would hold up. */
function placeOf(
  { topic, timestamp }: Pick<Taken<Buffer>, 'topic' | 'timestamp'>,
  dueAt: number,
  now: number,
): Place | { holdUntil: number } {
  // without a time that can be meant, one before the record itself is gone, it is due at once rather than never
  if (!(dueAt > now && dueAt < timestamp + DELIVERIES_RETENTION)) return { topic: DUE }
  const delayMs = rungDelay(topic)
  if (delayMs === 0 || dueAt <= now + delayMs + SKEW_MS) return { holdUntil: dueAt }
  return { topic, headers: { dueAt: String(now + delayMs) } }
}

/** Values pass through as they are: nothing here needs to be read. */
export const bytes = {
  decode: (value: Buffer | null) =>
    value === null
      ? { ok: false as const, reason: 'undecodable' as const, message: 'the value is null' }
      : { ok: true as const, value },
}
