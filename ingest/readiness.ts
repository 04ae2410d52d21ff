import type { Probe } from '../http/probes.ts'
import type { Storage } from '../kafka/admin/storage.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import type { Logger } from '../process/log.ts'
import type { Settings } from '../settings/follow.ts'

const STALLED_MS = 5_000

const SHORTAGES = {
  disk: "Kafka's disk is almost full",
  limit: "Sluice's topics have almost reached STORAGE_LIMIT",
}

export function notReady(
  settings: Pick<Settings, 'isLoaded'>,
  producer: Pick<Producer, 'stalledMs'>,
  storage: Pick<Storage, 'shortage'>,
  isListening: boolean,
): ReturnType<Probe['notReady']> {
  if (!settings.isLoaded()) return 'the settings are not loaded yet'
  if (!isListening) return 'the port for calls is not open yet'
  const shortage = storage.shortage()
  if (shortage) return SHORTAGES[shortage.of]
  return producer.stalledMs() > STALLED_MS ? 'Kafka has not acknowledged for 5 s' : undefined
}

export function logShortage(log: Pick<Logger, 'warn' | 'info'>) {
  return (shortage: ReturnType<Storage['shortage']>): void => {
    if (!shortage) {
      log.info('storage has room again: calls are accepted')
      return
    }
    const { of, free, reserve } = shortage
    log.warn({ free, reserve }, `${SHORTAGES[of]}: calls are refused (503 storage_full) until it has room`)
  }
}
