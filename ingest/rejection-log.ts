import { within } from '../kafka/client.ts'
import type { Losses } from '../kafka/produce/dropped.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import type { Trace } from '../trace/trace.ts'

/** Resolves when Kafka has the records, or at the time limit. Never rejects. */
export type RejectionLog = (records: readonly OutRecord[], trace?: Pick<Trace, 'send'>) => Promise<void>

const WAIT_MS = 1_000

/**
 * Has its own producer, so that a blocked topic does not delay accepted calls. Drops and counts what cannot be written.
 */
export function createRejectionLog({
  producer,
  losses,
  waitMs = WAIT_MS,
}: {
  producer: Pick<Producer, 'produce' | 'stalledMs'>
  losses: Losses
  waitMs?: number
}): RejectionLog {
  async function write(records: readonly OutRecord[], trace?: Pick<Trace, 'send'>): Promise<void> {
    const outcome = await producer.produce(records, { trace })
    if (outcome === 'acked') losses.written()
    else losses.lost(records.length)
  }

  return async (records, trace) => {
    if (records.length === 0) return
    const writing = write(records, trace)
    if (producer.stalledMs() < waitMs) await within(waitMs, writing)
  }
}
