import { partitionKey } from '../../kafka/committed.ts'
import type { Bounds, Offsets } from '../../kafka/offsets.ts'
import type { Reading } from './readings.ts'

/** A partition of a group, as Kafka has it now. */
export type Seen = Pick<Bounds, 'partition' | 'low' | 'end'> & {
  reading: Reading
  /** Null: nothing yet. */
  committed: number | null
  /** Changes with each commit that does not move the offset (kafka/tracker.ts). */
  ahead: string
  owned: boolean
  /** All before it is there, and due. */
  front: number
}

/** Of a partition of a topic that is read, as Kafka has it, whatever a replay is to read of it. */
export type End = Bounds & { topic: string }

/** `at`: ms since 1970. */
export type Look = { at: number; seen: Seen[]; ends: End[] }

type Asked = Pick<Offsets, 'committed' | 'owned' | 'bounds' | 'at'>

/**
 * Committed offsets first, then ends: so nothing is ever committed beyond an end.
 * @throws when Kafka does not answer.
 */
export async function look(offsets: Asked, readings: readonly Reading[], now: () => number): Promise<Look> {
  const groups = [...Map.groupBy(readings, ({ group }) => group)]
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
  const topics = new Map(readings.map((reading) => [reading.topic, reading]))
  const found = await Promise.all([...topics.values()].map((reading) => endsOf(reading, offsets, now)))
  const fronts = found.flat()
  const frontsBy = Map.groupBy(fronts, ({ topic }) => topic)
  const seen = readings.flatMap((reading) =>
    (frontsBy.get(reading.topic) ?? []).map(({ topic, ...end }) => {
      const { offset = null, ahead = '' } = commits.get(keyOf(reading.group, { topic, ...end })) ?? {}
      const isOwned = owned.get(reading.group)?.has(partitionKey(topic, end.partition)) ?? false
      return { ...end, reading, committed: offset, ahead, owned: isOwned }
    }),
  )
  const ends = fronts.map(({ front: _, ...end }) => end)
  return { at: now(), seen: seen.filter(isRead), ends }
}

const keyOf = (group: string, { topic, partition }: { topic: string; partition: number }) =>
  `${group} ${partitionKey(topic, partition)}`

/** What is in rungs is held back until it is due: the offsets of a time say how far that is, without a record being read. */
async function endsOf(
  { topic, delayMs, markers }: Reading,
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

const isRead = ({ reading, partition }: Seen) => !reading.ranges || reading.ranges.has(partition)
