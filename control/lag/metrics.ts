import { Gauge } from 'prom-client'
import { registry } from '../../metrics.ts'
import type { Lag } from './follow.ts'
import type { LagItem } from './item.ts'

const where = ['consumergroup', 'topic', 'partition'] as const

/** Those that begin with `kafka_` have the names and labels that public Grafana boards know. Of what is gone no series remains. */
export function watchLag({ latest }: Pick<Lag, 'latest'>): void {
  const each = (set: (item: LagItem, labels: Record<(typeof where)[number], string>) => void) => {
    for (const item of latest()?.items ?? [])
      set(item, { consumergroup: item.group, topic: item.topic, partition: String(item.partition) })
  }
  new Gauge({
    name: 'kafka_consumergroup_lag',
    help: 'Offsets from the committed one to the end, by consumer group, topic and partition.',
    labelNames: where,
    registers: [registry],
    collect() {
      this.reset()
      each(({ lag }, labels) => this.set(labels, lag))
    },
  })
  new Gauge({
    name: 'kafka_consumergroup_lag_seconds',
    help: 'How long the oldest record that is not settled waits; in rungs of the ladder, how long it is past due. None where it is not known.',
    labelNames: where,
    registers: [registry],
    collect() {
      this.reset()
      each(({ lagSeconds }, labels) => {
        if (lagSeconds !== null) this.set(labels, lagSeconds)
      })
    },
  })
  new Gauge({
    name: 'sluice_control_lag_status',
    help: '1 for the state that a partition of a consumer group is in: ok, warn, stall, stop or rewind.',
    labelNames: [...where, 'status'],
    registers: [registry],
    collect() {
      this.reset()
      each(({ status }, labels) => this.set({ ...labels, status }, 1))
    },
  })
}
