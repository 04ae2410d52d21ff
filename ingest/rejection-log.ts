import type { Losses } from '../kafka/produce/dropped.ts'
import type { OutRecord, ProduceOptions, Producer } from '../kafka/produce/produce.ts'
import { within } from '../process/timeout.ts'

/** Resolves when Kafka has the records, or at the time limit. Never rejects. */
export type RejectionLog = (records: readonly OutRecord[], options?: Options) => Promise<void>
type Options = Pick<ProduceOptions, 'trace' | 'flow'>

const WAIT_MS = 1_000

/**
 * Has its own producer, so that a blocked topic does not delay accepted calls. Drops and counts what cannot be written.
 */
export function createRejectionLog({
  producer,
  losses,
  waitMs = WAIT_MS,
}: {
  producer: Pick<Producer, 'produce' | 'stalledMs' | 'unwritableMs'>
  losses: Losses
  waitMs?: number
}): RejectionLog {
  async function write(records: readonly OutRecord[], options?: Options): Promise<void> {
    const outcome = await producer.produce(records, options)
    if (outcome === 'acked') losses.written()
    else losses.lost(records.length)
  }

  return async (records, options) => {
    if (records.length === 0) return
    const writing = write(records, options)
    if (Math.max(producer.stalledMs(), producer.unwritableMs()) < waitMs) await within(waitMs, writing)
  }
}
