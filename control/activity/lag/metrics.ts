import { Gauge } from 'prom-client'
import { openOffsets } from '../../../kafka/admin/offsets.ts'
import { poll } from '../../../kafka/admin/poll.ts'
import { openRetentions } from '../../../kafka/admin/topics.ts'
import { type Context, close } from '../../../lifecycle.ts'
import { registry } from '../../../process/metrics.ts'
import type { Replay } from '../../../schemas/task.ts'
import { DEAD, topics as tableOfTopics } from '../../../schemas/topics.ts'
import { followLag, type Lag, observationsFor } from './follow.ts'
import { type End, groupTopics } from './observe.ts'
import type { LagItem } from './status.ts'

type Parts = Pick<Context, 'config' | 'connection' | 'closing'> & {
  tasks: { replays: ReadonlyMap<string, Replay> }
}

export function openLag({ config, connection, closing, tasks }: Parts): Lag {
  const lag = followLag({
    open: () => openOffsets(connection),
    groupTopics: (topics) => groupTopics(topics, tasks.replays.values()),
    required: tableOfTopics({ ...config.delivery, dedupWindowMs: config.dedupWindowMs }).map(
      ({ name }) => name,
    ),
    onFailed: (err) =>
      connection.failures.add({ kind: 'lag', text: 'the consumer groups cannot be observed', err }),
    observations: observationsFor(config.delivery.responseTimeoutMs),
  })
  closing.adopt(lag, close)
  watchLag(lag)
  return lag
}

const place = ['topic', 'partition'] as const
const where = ['consumergroup', ...place] as const

export function watchLag(lag: Pick<Lag, 'latest'>): void {
  watchOffsets(lag)
  gauge(
    {
      name: 'sluice_control_lag_status',
      help: "1 for the current status of a consumer group's partition: ok, warn, stall, stop or rewind.",
      labelNames: [...where, 'status'],
    },
    () => (lag.latest()?.items ?? []).map((item) => [{ ...whereOf(item), status: item.status }, 1]),
  )
  gauge(
    {
      name: 'sluice_topic_missing',
      help: '1 for each topic of Sluice that does not exist.',
      labelNames: ['topic'],
    },
    () => (lag.latest()?.missing ?? []).map((topic) => [{ topic }, 1]),
  )
}

/**
 * Uses the names and labels of kafka_exporter (https://github.com/danielqsj/kafka_exporter), so that its dashboards
 * work. `kafka_consumergroup_lag_seconds` is our own.
 */
function watchOffsets({ latest }: Pick<Lag, 'latest'>): void {
  const items = () => latest()?.items ?? []
  const ends = () => latest()?.ends ?? []
  const ofGroups = (name: string, help: string, readValue: (item: LagItem) => number | null) =>
    gauge({ name, help, labelNames: where }, () => items().map((item) => [whereOf(item), readValue(item)]))
  const ofTopics = (name: string, help: string, readValue: (end: End) => number) =>
    gauge({ name, help, labelNames: place }, () => ends().map((end) => [placeOf(end), readValue(end)]))

  ofGroups(
    'kafka_consumergroup_lag',
    'Offsets from the committed one to the end, by consumer group, topic and partition.',
    ({ lag }) => lag,
  )
  ofGroups(
    'kafka_consumergroup_lag_seconds',
    'Age of the oldest unsettled record; on rungs of the ladder, how long it is past due. Absent if unknown.',
    ({ lagSeconds }) => lagSeconds,
  )
  ofGroups(
    'kafka_consumergroup_current_offset',
    'Committed offset, by consumer group, topic and partition. Absent if nothing is committed.',
    ({ committed }) => committed,
  )
  ofTopics(
    'kafka_topic_partition_current_offset',
    'Offset after the last record, for topics that a consumer group of Sluice reads.',
    ({ end }) => end,
  )
  ofTopics(
    'kafka_topic_partition_oldest_offset',
    'Offset of the first remaining record, for topics that a consumer group of Sluice reads.',
    ({ low }) => low,
  )
  gauge(
    {
      name: 'kafka_topic_partitions',
      help: 'Number of partitions of a topic that a consumer group of Sluice reads.',
      labelNames: ['topic'],
    },
    () => [...Map.groupBy(ends(), ({ topic }) => topic)].map(([topic, { length }]) => [{ topic }, length]),
  )
}

const placeOf = ({ topic, partition }: Pick<End, 'topic' | 'partition'>) => ({
  topic,
  partition: String(partition),
})
const whereOf = (item: LagItem) => ({ consumergroup: item.group, ...placeOf(item) })

type Described<L extends string> = { name: string; help: string; labelNames: readonly L[] }

/** @param readValues null leaves the series out. */
function gauge<L extends string>(
  described: Described<L>,
  readValues: () => [Record<L, string>, number | null][],
): void {
  new Gauge({
    ...described,
    registers: [registry],
    collect() {
      this.reset()
      for (const [labels, value] of readValues()) if (value !== null) this.set(labels, value)
    },
  })
}

const EVERY_MS = 10_000

/** `of`: retention in ms of a topic that groups or replays read; undefined: forever, or unknown. */
export type Retention = { of(topic: string): number | undefined }

/** For alerts: a group that is further behind than the retention loses records. */
export function watchRetention({
  connection,
  closing,
  lag,
}: Pick<Context, 'connection' | 'closing'> & { lag: Pick<Lag, 'latest'> }): Retention {
  let kept: ReadonlyMap<string, number> = new Map()
  const polling = poll({
    open: () => openRetentions(connection),
    async read(retentions) {
      const { ends = [], missing = [] } = lag.latest() ?? {}
      if (ends.length === 0) return
      // replays read it; a missing topic would fail the request
      const dead = missing.includes(DEAD) ? [] : [DEAD]
      kept = await retentions.read([...new Set([...ends.map(({ topic }) => topic), ...dead])])
    },
    onFailed: (err) =>
      connection.failures.add({
        kind: 'retention',
        text: 'the retention of topics cannot be read',
        err,
      }),
    everyMs: EVERY_MS,
  })
  closing.defer(() => polling.close())
  new Gauge({
    name: 'sluice_topic_retention_seconds',
    help: 'How long Kafka keeps records of a topic that a consumer group of Sluice reads (retention.ms).',
    labelNames: ['topic'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [topic, ms] of kept) this.set({ topic }, ms / 1_000)
    },
  })
  return { of: (topic) => kept.get(topic) }
}
