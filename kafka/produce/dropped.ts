import type { Logger } from '../../process/log.ts'

export type Losses = {
  lost(records: number): void
  written(): void
}

/**
 * Counts records that are dropped when Kafka does not accept them, and logs when that begins and ends. No delivery
 * depends on them.
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
