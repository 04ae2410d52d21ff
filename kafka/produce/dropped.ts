import type { Logger } from '../../process/log.ts'

/** What becomes of records that may be dropped. */
export type Losses = {
  /** So many are not in the topic. */
  lost(records: number): void
  written(): void
}

/**
 * Counts the records of a topic that were dropped: nothing is delivered by them, so they give way when Kafka does not take them. A line when
 * that begins, and one when it is over.
 */
export function lossesOf(
  topic: string,
  { log, onLost }: { log: Pick<Logger, 'info' | 'warn'>; onLost: (records: number) => void },
): Losses {
  let dropped = 0
  return {
    lost(records) {
      if (dropped === 0)
        log.warn({ topic }, 'Kafka does not take these records: they are dropped and counted')
      dropped += records
      onLost(records)
    },
    written() {
      if (dropped > 0) log.info({ topic, dropped }, 'Kafka takes these records again')
      dropped = 0
    },
  }
}
