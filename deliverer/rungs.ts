import type { Producer } from '../kafka/produce.ts'
import type { Handler } from '../kafka/taken.ts'
import { DELIVERIES_KEPT, DUE } from '../schemas/topics.ts'
import { carried } from '../trace/trace.ts'

/**
 * Rungs only move time: records of a rung all wait equally long, so they are due in their order (but for the moment for which
 * deferrals are gathered). The head that is not due holds its partition; one that is goes to `deliveries.due` as it is, and is
 * settled when Kafka has it there.
 */
export function rungs(producer: Pick<Producer, 'produce'>): Handler<Buffer> {
  return (record, message) => {
    const dueAt = Number(message.headers?.dueAt?.toString())
    // without a time that can be meant, one before the record itself is gone, it is due at once rather than never
    if (dueAt > Date.now() && dueAt < record.timestamp + DELIVERIES_KEPT) return { holdUntil: dueAt }
    const { key, value } = record
    void producer.produce([{ topic: DUE, key, value, headers: carried(message.headers) }]).then((outcome) => {
      if (outcome === 'acked') record.settle()
      else if (outcome === 'unknown') record.release()
      else record.park(message, `cannot be moved to ${DUE}: ${outcome}`)
    })
    return
  }
}

/** Values pass through as they are: nothing here needs to be read. */
export const bytes = {
  decode: (value: Buffer | null) =>
    value === null
      ? { ok: false as const, reason: 'undecodable' as const, message: 'the value is null' }
      : { ok: true as const, value },
}
