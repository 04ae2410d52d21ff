import type { Storage } from '../kafka/admin/storage.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import type { Logger } from '../process/log.ts'
import type { Probe } from '../process/metrics.ts'
import type { Settings } from '../settings/follow.ts'

/** Kafka counts as away when one send has waited longer than this for its acknowledgement. */
const STALLED_MS = 5_000

const OF = {
  disk: "Kafka's disk is almost full",
  limit: "Sluice's topics have almost reached STORAGE_LIMIT",
}

/** Why ingest should get no calls now. */
export function notReady(
  settings: Pick<Settings, 'isLoaded'>,
  producer: Pick<Producer, 'stalledMs'>,
  storage: Pick<Storage, 'shortage'>,
): ReturnType<Probe['notReady']> {
  if (!settings.isLoaded()) return 'the settings are not loaded yet'
  const shortage = storage.shortage()
  if (shortage) return OF[shortage.of]
  return producer.stalledMs() > STALLED_MS ? 'Kafka has not acknowledged for 5 s' : undefined
}

/** Whether a write key that no source has may be that of one whose record cannot be read. */
export const isSourceUnreadable = ({ unreadable }: Pick<Settings, 'unreadable'>): boolean =>
  [...unreadable.values()].some(({ kind }) => kind === 'source')

/** In the log, when calls are no longer taken for want of room, and when they are again. */
export function sayShortage(log: Pick<Logger, 'warn' | 'info'>) {
  return (shortage: ReturnType<Storage['shortage']>): void => {
    if (!shortage) {
      log.info('there is room again: calls are taken')
      return
    }
    const { of, free, reserve } = shortage
    log.warn({ free, reserve }, `${OF[of]}: calls are refused (503 storage_full) until there is room`)
  }
}
