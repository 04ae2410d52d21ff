import { z } from 'zod'
import type { Bounds, Offsets } from '../../../kafka/admin/offsets.ts'
import { partitionKey } from '../../../kafka/patches/log-watch.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import type { Replay } from '../../../schemas/task.ts'
import { DELIVERIES, DUE, EVENTS, isRung, rungDelay, TASKS } from '../../../schemas/topics.ts'
import { topicOf } from '../../tasks/replays/records.ts'

/**
 * `warn`: it works, but falls behind. `stall`: its consumer is there, but gets nowhere. `stop`: nobody works on it.
 * `rewind`: it was turned back, and is not yet where it was.
 */
export const STATUSES = ['ok', 'warn', 'stall', 'stop', 'rewind'] as const

export type LagItem = z.infer<typeof lagItemShape>

/** How far a group is behind in a partition, as it is told. */
export const lagItemShape = z
  .strictObject({
    group: z.string(),
    topic: z.string(),
    partition: z.number(),
    end: z
      .number()
      .describe('The offset behind the last record; for a replay, behind the last that it is to read.'),
    committed: z.number().nullable().describe('Null: nothing yet.'),
    lag: z
      .number()
      .describe(
        'Offsets from the committed one (or the first that there still is) to the end. What is settled out of order beyond it is among them, until the gap closes.',
      ),
    lagSeconds: z
      .number()
      .nullable()
      .describe(
        "How long the oldest record that is not settled has waited; on a rung, how long it is past due. Null: not known, or a replay's, whose records are old.",
      ),
    status: z
      .enum(STATUSES)
      .describe(
        'By how it went over the last 20 s: `warn`: falls behind; `stall`: a consumer is there, but gets nowhere; `stop`: nobody works on it; `rewind`: turned back.',
      ),
  })
  .meta({ id: 'Lag' })

/** A partition of a group, as Kafka has it now. */
export type Seen = Pick<Bounds, 'partition' | 'low' | 'end'> & {
  reading: Reading
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

/** A topic that a consumer group of this system reads. */
export type Reading = {
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
export function readings(
  topics: readonly string[],
  replays: Iterable<Pick<Replay, 'id' | 'state' | 'what' | 'ranges'>>,
): Reading[] {
  const all: Reading[] = [
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

export type Status = (typeof STATUSES)[number]

/** One look at a partition of a group. */
export type Observation = {
  /** From where the group would go on. */
  position: number
  /** Records that were there, and due, at the look before, and are not settled now. */
  behind: number
  /** Whether the group has committed since the look before. */
  committed: boolean
  /** Whether a member of the group has the partition. */
  owned: boolean
}

/**
 * Burrow's rules (https://github.com/linkedin/Burrow/wiki/Consumer-Lag-Evaluation-Rules, and its evaluator for `rewind`),
 * without any limit that would have to be chosen: what counts is how a partition went over the last looks. Burrow is told of
 * each commit; we see whether one has changed anything, and as our consumers commit only then, one that has a partition counts as
 * alive without a commit. And as it is behind only with what it was given time for, records that are just being worked on
 * are no lag here.
 * @param window the last looks, oldest first. Only as many as `looks` say more than `ok` and `rewind`.
 */
export function statusOf(window: readonly Observation[], looks: number): Status {
  const last = window.at(-1)
  if (!last || last.behind === 0) return 'ok'
  const isBehindAllAlong = window.length >= looks && window.every(({ behind }) => behind > 0)
  if (isBehindAllAlong && !last.owned && window.every(({ committed }) => !committed)) return 'stop'
  if (isTurnedBack(window)) return 'rewind'
  if (!isBehindAllAlong) return 'ok'
  if (window.every(({ position }) => position === last.position)) return 'stall'
  return pairs(window).every(([before, after]) => after.behind >= before.behind) ? 'warn' : 'ok'
}

/** Also one that had no lag may be turned back; one that has come again to where it was has got over it. */
function isTurnedBack(window: readonly Observation[]): boolean {
  const furthest = Math.max(...window.map(({ position }) => position))
  return (window.at(-1)?.position ?? furthest) < furthest
}

const pairs = <T>(items: readonly T[]): [T, T][] =>
  items.slice(1).map((item, index) => [items[index] ?? item, item])
