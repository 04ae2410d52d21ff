import type { Bounds, Offsets } from '../../../kafka/admin/offsets.ts'
import { partitionKey } from '../../../kafka/patches/log-watch.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import type { Replay } from '../../../schemas/task.ts'
import { DELIVERIES, DUE, EVENTS, isRung, rungDelay, TASKS } from '../../../schemas/topics.ts'
import { topicOf } from '../../tasks/replays/records.ts'

/** A partition of a group, as Kafka has it now. */
export type PartitionOffsets = Pick<Bounds, 'partition' | 'low' | 'end'> & {
  groupTopic: GroupTopic
  /** Null: nothing yet. */
  committed: number | null
  /** Changes with each commit that does not move the offset (kafka/consume/tracker.ts). */
  ahead: string
  owned: boolean
  /** All before it is there, and due. */
  front: number
}

/** Of a partition of a topic that is read, as Kafka has it, whatever a replay is to read of it. */
export type End = Bounds & { topic: string }

/** `at`: ms since 1970. */
export type Snapshot = { at: number; seen: PartitionOffsets[]; ends: End[] }

type Asked = Pick<Offsets, 'committed' | 'owned' | 'bounds' | 'at'>

/**
 * Committed offsets first, then ends: so nothing is ever committed beyond an end.
 * @throws when Kafka does not answer.
 */
export async function observe(
  offsets: Asked,
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
      const { offset = null, ahead = '' } = commits.get(keyOf(groupTopic.group, { topic, ...end })) ?? {}
      const isOwned = owned.get(groupTopic.group)?.has(partitionKey(topic, end.partition)) ?? false
      return { ...end, groupTopic, committed: offset, ahead, owned: isOwned }
    }),
  )
  const ends = fronts.map(({ front: _, ...end }) => end)
  return { at: now(), seen: seen.filter(isRead), ends }
}

const keyOf = (group: string, { topic, partition }: { topic: string; partition: number }) =>
  `${group} ${partitionKey(topic, partition)}`

/** What is in rungs is held back until it is due: the offsets of a time say how far that is, without a record being read. */
async function endsOf(
  { topic, delayMs, markers }: GroupTopic,
  offsets: Asked,
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

/** A topic that a consumer group of this system reads. */
export type GroupTopic = {
  group: string
  topic: string
  /**
   * Of a rung: its records are due so long after they were written, and nobody is late with them before. Else 0, as of one whose name says
   * none: they are taken for due at once, as the deliverer goes by what they say themselves.
   */
  delayMs: number
  /** How many offsets before the end no record has: transactions end with a marker, which no consumer commits. */
  markers: 0 | 1
  /** Of a replay: the partitions that it reads, each from one offset to before another. */
  ranges?: ReadonlyMap<number, Pick<Range, 'from' | 'to'>>
}

const ordinary = { delayMs: 0, markers: 0 } as const

/**
 * All that is read by groups that commit; tables, readers and tails commit nothing. What no group has ever read is here as well,
 * so that a process that was never started shows. Rungs are in the order of their delays.
 * @param topics those that there are; rungs of an older ladder among them.
 * @param replays those that are done or cancelled are passed over: nobody reads for them any more.
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
