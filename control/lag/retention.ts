import { Gauge } from 'prom-client'
import { openRetentions } from '../../kafka/admin.ts'
import { poll } from '../../kafka/poll.ts'
import type { Context } from '../../lifecycle.ts'
import { registry } from '../../metrics.ts'
import type { Lag } from './follow.ts'

/** It changes when somebody changes it. */
const EVERY_MS = 10_000

/** Tells in the metrics how long Kafka keeps what consumer groups read: who is behind for longer loses records. */
export function watchRetention({
  connection,
  closing,
  lag,
}: Pick<Context, 'connection' | 'closing'> & { lag: Pick<Lag, 'latest'> }): void {
  let kept: ReadonlyMap<string, number> = new Map()
  const polling = poll({
    open: () => openRetentions(connection),
    async look(retentions) {
      const topics = new Set(lag.latest()?.ends.map(({ topic }) => topic))
      if (topics.size > 0) kept = await retentions.read([...topics])
    },
    onFailed: (err) =>
      connection.failures.add({
        kind: 'retention',
        text: 'how long topics are kept cannot be looked at',
        err,
      }),
    everyMs: EVERY_MS,
  })
  closing.defer(() => polling.close())
  new Gauge({
    name: 'sluice_topic_retention_seconds',
    help: 'How long Kafka keeps the records of a topic that a consumer group of Sluice reads (retention.ms).',
    labelNames: ['topic'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [topic, ms] of kept) this.set({ topic }, ms / 1_000)
    },
  })
}
