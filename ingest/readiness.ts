import type { Probe } from '../http/probes.ts'
import { SHORTAGES, type Storage } from '../kafka/admin/storage.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import type { Settings } from '../settings/follow.ts'

const STALLED_MS = 5_000

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
