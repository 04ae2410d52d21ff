import type { Admin } from 'kafkajs'
import { MAX_CLOCK_ERROR_MS } from '../admin/topics.ts'
import type { Connection } from '../client.ts'
import { packMetadata } from '../consume/commits.ts'
import { soleAssigner } from '../patches/consumer/drain-before-join.ts'

/** Offsets; `to` is not included. */
export type Range = { partition: number; from: number; to: number }

/** `high`: the offset after the last record. */
export type BoundsOf = Map<number, { low: number; high: number }>

/** @param named as named on the broker. Rejects when Kafka does not answer. */
export async function boundsOf(admin: Pick<Admin, 'fetchTopicOffsets'>, named: string): Promise<BoundsOf> {
  const found = await admin.fetchTopicOffsets(named)
  return new Map(
    found.map(({ partition, low, high }) => [partition, { low: Number(low), high: Number(high) }]),
  )
}

/** A writer's clock may be that far ahead. Records may also have waited for Kafka. */
export const MAX_SKEW_MS = MAX_CLOCK_ERROR_MS + 600_000

/**
 * Ranges with all records of a time, and with others: records are not in order of time. Kafka finds only the first that
 * is as late as a time, and one from a fast clock would end a range early.
 * @param request times in ms since 1970; `to` is exclusive.
 */
export async function rangesByTime(
  { kafka, named }: Connection,
  { topic, from, to }: { topic: string; from: number; to: number },
): Promise<Range[]> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const [begins, ends] = await Promise.all([
      admin.fetchTopicOffsetsByTimestamp(named(topic), from),
      admin.fetchTopicOffsetsByTimestamp(named(topic), to + MAX_SKEW_MS),
    ])
    const toOf = new Map(ends.map(({ partition, offset }) => [partition, Number(offset)]))
    return begins
      .map(({ partition, offset }) => ({ partition, from: Number(offset), to: toOf.get(partition) ?? 0 }))
      .filter((range) => range.from < range.to)
  } finally {
    await admin.disconnect()
  }
}

/** A consumer group for ranges. It must have no members while its offsets are written. */
export type RangeGroup = {
  /** Commits the start of each range without a commit. */
  begin(): Promise<void>
  /** Whether all are committed, or the rest no longer exists. */
  isThrough(): Promise<boolean>
  /** The committed part of each range. */
  through(): Promise<Range[]>
  /** Whether the topic reaches that far. A recreated topic may not. */
  isThere(): Promise<boolean>
  close(): Promise<void>
}

export async function openRangeGroup(
  { kafka, named }: Connection,
  { group, topic, ranges }: { group: string; topic: string; ranges: readonly Range[] },
): Promise<RangeGroup> {
  const admin = kafka.admin()
  const groupId = named(group)
  await admin.connect()
  async function committed(): Promise<Map<number, number>> {
    const [found] = await admin.fetchOffsets({ groupId, topics: [named(topic)] })
    return new Map(found?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  }

  const bounds = () => boundsOf(admin, named(topic))

  return {
    async begin() {
      const at = await committed()
      const uncommitted = ranges.filter(({ partition }) => (at.get(partition) ?? -1) < 0)
      if (uncommitted.length > 0)
        await commitStarts(kafka, { groupId, topic: named(topic), ranges: uncommitted })
    },
    async isThrough() {
      const at = await committed()
      const left = ranges.filter(({ partition, to }) => (at.get(partition) ?? -1) < to)
      if (left.length === 0) return true
      const all = await bounds()
      return left.every(({ partition, to }) => (all.get(partition)?.low ?? 0) >= to)
    },
    async through() {
      const at = await committed()
      return ranges.flatMap(({ partition, from, to }) => {
        const end = Math.min(to, at.get(partition) ?? from)
        return end > from ? [{ partition, from, to: end }] : []
      })
    },
    async isThere() {
      const all = await bounds()
      return ranges.every(({ partition, to }) => (all.get(partition)?.high ?? -1) >= to)
    },
    close: () => admin.disconnect(),
  }
}

/** Never rejects: otherwise the broker forgets the group later. */
export async function removeRangeGroup({ kafka, named, log }: Connection, group: string): Promise<void> {
  const admin = kafka.admin()
  const groupId = named(group)
  try {
    await admin.connect()
    await admin.deleteGroups([groupId])
  } catch (err) {
    log.debug({ err, groupId }, 'the group of a replay was not deleted')
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

type Starts = { groupId: string; topic: string; ranges: readonly Range[] }

/** Commits as a member that reads nothing: `setOffsets` of kafkajs first waits five seconds for a fetch. */
async function commitStarts(kafka: Connection['kafka'], { groupId, topic, ranges }: Starts): Promise<void> {
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 50,
    // if this process is killed now, its member must not keep the one that reads the ranges out of the group
    partitionAssigners: [soleAssigner],
    sessionTimeout: 10_000,
  })
  const { GROUP_JOIN, CRASH } = consumer.events
  const joined = Promise.withResolvers<void>()
  consumer.on(GROUP_JOIN, () => joined.resolve())
  consumer.on(CRASH, ({ payload: { error, restart } }) => {
    if (!restart) joined.reject(error)
  })
  await consumer.connect()
  try {
    await consumer.subscribe({ topics: [topic] })
    const running = consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async () => undefined,
    })
    await Promise.all([running, joined.promise])
    // without it, the commit would look like another program's
    const metadata = packMetadata({ ahead: '' })
    await consumer.commitOffsets(
      ranges.map(({ partition, from }) => ({ topic, partition, offset: String(from), metadata })),
    )
  } finally {
    await consumer.disconnect()
  }
}
