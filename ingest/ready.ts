import type { Producer } from '../kafka/produce.ts'
import type { Probe } from '../metrics.ts'
import type { Settings } from '../schemas/follow.ts'

/** Kafka counts as away when one send has waited longer than this for its acknowledgement. */
const STALLED_MS = 5_000

/** Why ingest should get no calls now. */
export function notReady(
  settings: Pick<Settings, 'isLoaded'>,
  producer: Pick<Producer, 'stalledMs'>,
): ReturnType<Probe['notReady']> {
  if (!settings.isLoaded()) return 'the settings are not loaded yet'
  return producer.stalledMs() > STALLED_MS ? 'Kafka has not acknowledged for 5 s' : undefined
}
