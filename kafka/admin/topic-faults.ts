import type { Topic } from './topics.ts'

/** With three replicas and one broker down, acks=all still means two copies. */
export const ADVISED_REPLICAS = 3

export function onlyCopy(of: { brokers: number; replication: number }): string | undefined {
  if (of.replication > 1 || of.brokers < ADVISED_REPLICAS) return undefined
  return `REPLICATION is 1 on a cluster of ${of.brokers} brokers: a new topic loses its records with its broker`
}

const hours = (ms: number) => `${Math.round(ms / 360_000) / 10}h`

/** @param actual `retention.ms`; -1: forever. @returns the fault, with the fix. */
export function tooShort(
  topic: string,
  actual: string | undefined,
  requiredMs: number | undefined,
): [string] | undefined {
  const ms = Number(actual)
  if (actual === undefined || requiredMs === undefined || ms < 0 || ms >= requiredMs) return undefined
  return [
    `RETRY_WINDOW: topic ${topic} keeps records for ${hours(ms)} (retention.ms=${ms}), but deliveries may wait for ${hours(requiredMs)}: the retry window plus a day for outages. ` +
      `Raise it: ${alter(topic, `retention.ms=${requiredMs}`)}`,
  ]
}

/** Compaction would delete unread records; deletion by age, settings that are still in force. */
export function wrongPolicy(
  topic: string,
  actual: string | undefined,
  retention: Topic['retention'],
): [string] | undefined {
  const fix = (policy: string) => `Fix it: ${alter(topic, `cleanup.policy=${policy}`)}`
  if (typeof retention === 'number' && actual?.includes('compact'))
    return [
      `Kafka: topic ${topic} is compacted (cleanup.policy=${actual}): Kafka deletes all but the last record of each key. ${fix('delete')}`,
    ]
  if (retention === 'compact' && actual?.includes('delete'))
    return [
      `Kafka: topic ${topic} deletes old records (cleanup.policy=${actual}), but they are still in force. ${fix('compact')}`,
    ]
  return undefined
}

const alter = (topic: string, setting: string) =>
  `kafka-configs --bootstrap-server ... --alter --entity-type topics --entity-name ${topic} --add-config ${setting}`

/** @returns the fault, with the fix. */
export function spread(
  topic: string,
  bounds: readonly { partition: number; high: string }[],
): [string] | undefined {
  const used = bounds.filter(({ partition, high }) => partition > 0 && Number(high) > 0)
  if (used.length === 0) return undefined
  const partitions = used.map(({ partition }) => partition).toSorted((one, other) => one - other)
  return [
    `Kafka: topic ${topic} has records in partition ${partitions.join(', ')}, but belongs in partition 0: which record is the newest is unknown. ` +
      'Fix it: delete the topic, start control, and restore a backup (sluice restore)',
  ]
}
