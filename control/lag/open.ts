import { openOffsets } from '../../kafka/offsets.ts'
import type { Context } from '../../lifecycle.ts'
import type { Tasks } from '../tasks/follow.ts'
import { EVERY_MS, followLag, type Lag, LOOKS } from './follow.ts'
import { watchLag } from './metrics.ts'
import { readings } from './readings.ts'

type Parts = Pick<Context, 'config' | 'connection' | 'closing'> & { tasks: Pick<Tasks, 'replays'> }

/** Begins to look at the consumer groups, and to tell of them in the metrics. */
export function openLag({ config, connection, closing, tasks }: Parts): Lag {
  // one attempt may keep an offset where it is for so long, while another waits behind it
  const patienceMs = 2 * config.delivery.responseTimeoutMs
  const lag = followLag({
    open: () => openOffsets(connection),
    readings: (topics) => readings(topics, tasks.replays.values()),
    onFailed: (err) =>
      connection.failures.add({ kind: 'lag', text: 'the consumer groups cannot be looked at', err }),
    looks: Math.max(LOOKS, Math.ceil(patienceMs / EVERY_MS)),
  })
  closing.adopt(lag, (open) => open.close())
  watchLag(lag)
  return lag
}
