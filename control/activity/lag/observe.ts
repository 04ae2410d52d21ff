import type { Bounds, Offsets } from '../../../kafka/admin/offsets.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import { partitionKey, type TopicPartition } from '../../../kafka/topic-partition.ts'
import { type Replay, topicOf } from '../../../schemas/task.ts'
import { DELIVERIES, DUE, EVENTS, isRung, rungDelay, TASKS } from '../../../schemas/topics.ts'

export type PartitionOffsets = Pick<Bounds, 'partition' | 'low' | 'end'> & {
  groupTopic: GroupTopic
  committed: number | null
  /** Changes with each commit that keeps the offset (kafka/consume/commits.ts). */
  metadata: string
  owned: boolean
  /** All records before it exist and are due. */
  front: number
}

/** Of the whole partition, whatever a replay reads of it. */
export type End = Bounds & { topic: string }

export type Snapshot = { at: number; seen: PartitionOffsets[]; ends: End[] }

type GroupOffsets = Pick<Offsets, 'committed' | 'owned' | 'bounds' | 'at'>

/**
 * Reads commits before ends, so no commit is beyond an end.
 * @throws if Kafka does not answer.
 */
export async function observe(
  offsets: GroupOffsets,
  groupTopics: readonly GroupTopic[],
  now: () => number,
): Promise<Snapshot> {
  const groups = [...Map.groupBy(groupTopics, ({ group }) => group)]
  const [committed, owned] = await Promise.all([
    Promise.all(
      groups.map(async ([group, read]) => {
        const found = await offsets.committed({ group, topics: read.map(({ topic }) => topic) })
        return found.map((each) => [keyOf(group, each), each] as const)
      }),
    ),
    offsets.owned(groups.map(([group]) => group)),
  ])
  const commits = new Map(committed.flat())
  const topics = new Map(groupTopics.map((groupTopic) => [groupTopic.topic, groupTopic]))
  const found = await Promise.all([...topics.values()].map((groupTopic) => endsOf(groupTopic, offsets, now)))
  const fronts = found.flat()
  const frontsBy = Map.groupBy(fronts, ({ topic }) => topic)
  const seen = groupTopics.flatMap((groupTopic) =>
    (frontsBy.get(groupTopic.topic) ?? []).map(({ topic, ...end }) => {
      const { offset = null, metadata = '' } = commits.get(keyOf(groupTopic.group, { topic, ...end })) ?? {}
      const isOwned = owned.get(groupTopic.group)?.has(partitionKey(topic, end.partition)) ?? false
      return { ...end, groupTopic, committed: offset, metadata, owned: isOwned }
    }),
  )
  const ends = fronts.map(({ front: _, ...end }) => end)
  return { at: now(), seen: seen.filter(isRead), ends }
}

const keyOf = (group: string, { topic, partition }: TopicPartition) =>
  `${group} ${partitionKey(topic, partition)}`

/** Offsets by time show how many records of a rung are due, without reading them. */
async function endsOf(
  { topic, delayMs, markers }: GroupTopic,
  offsets: GroupOffsets,
  now: () => number,
): Promise<(End & { front: number })[]> {
  const bounds = await offsets.bounds(topic)
  const due = delayMs > 0 ? await offsets.at(topic, now() - delayMs) : []
  const dueOf = new Map(due.map(({ partition, offset }) => [partition, offset]))
  return bounds
    .map((each) => {
      const end = each.end - markers
      return { ...each, topic, front: Math.max(0, Math.min(end, dueOf.get(each.partition) ?? end)) }
    })
    .toSorted((a, b) => a.partition - b.partition)
}

const isRead = ({ groupTopic, partition }: PartitionOffsets) =>
  !groupTopic.ranges || groupTopic.ranges.has(partition)

export type GroupTopic = {
  group: string
  topic: string
  /** For a rung: how long after writing its records are due. 0 otherwise, and if the rung's name states no delay. */
  delayMs: number
  /** Transactions end with a marker, an offset without a record that consumers never commit. */
  markers: 0 | 1
  ranges?: ReadonlyMap<number, Pick<Range, 'from' | 'to'>>
}

export const blockedGroups = (missing: readonly string[]): { group: string; topic: string }[] =>
  groupTopics(missing, []).map(({ group, topic }) => ({ group, topic }))

const ordinary = { delayMs: 0, markers: 0 } as const

/**
 * What groups with commits read, even before they read anything: so a process that was never started shows. Rungs are
 * ordered by delay.
 * @param topics existing ones, including rungs of an older ladder.
 * @param replays ended ones are skipped.
 */
export function groupTopics(
  topics: readonly string[],
  replays: Iterable<Pick<Replay, 'id' | 'state' | 'what' | 'ranges'>>,
): GroupTopic[] {
  const all: GroupTopic[] = [
    { ...ordinary, group: 'router', topic: EVENTS },
    { ...ordinary, group: 'deliverer', topic: DELIVERIES },
    { ...ordinary, group: 'deliverer.due', topic: DUE },
    ...topics
      .filter(isRung)
      .map((topic) => ({ ...ordinary, group: 'deliverer.rungs', topic, delayMs: rungDelay(topic) }))
      .toSorted((a, b) => a.delayMs - b.delayMs),
    { ...ordinary, group: 'control.tasks', topic: TASKS, markers: 1 },
    ...[...replays]
      .filter(({ state }) => state === 'accepted')
      .map((replay) => ({
        ...ordinary,
        group: `replay.${replay.id}`,
        topic: topicOf(replay),
        ranges: new Map(replay.ranges.map((range) => [range.partition, range])),
      })),
  ]
  return all.filter(({ topic }) => topics.includes(topic))
}
