import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { partitionKey } from '../../../kafka/patches/log-watch.ts'
import type { GroupTopic, PartitionOffsets, Snapshot } from './observe.ts'
import { type LagItem, type Observation, statusOf } from './status.ts'

/** What the looks up to now have shown. */
export type History = {
  /** Whether it has been told how the topic grew before the first look. */
  knows(topic: string): boolean
  begin(topic: string, past: ReadonlyMap<number, readonly Point[]>): void
  /** What is not in a look is gone. */
  add(observe: Pick<Snapshot, 'at' | 'seen'>): LagItem[]
}

/** What is known of a partition of a group: `front` and the commit of the last look, and what was observed up to it. */
type Held = Pick<PartitionOffsets, 'front' | 'ahead'> & { position: number; window: Observation[] }

/** @param looks how many in a row say what state a partition is in. */
export function createHistory(observations: number): History {
  const curves = new Map<string, Map<number, Curve>>()
  let held = new Map<string, Held>()

  function curveOf(topic: string, partition: number): Curve {
    const ofTopic = curves.get(topic) ?? new Map<number, Curve>()
    curves.set(topic, ofTopic)
    const curve = ofTopic.get(partition) ?? createCurve()
    ofTopic.set(partition, curve)
    return curve
  }

  function observed(seen: PartitionOffsets, position: number): Held {
    const { owned, ahead } = seen
    const front = upTo(seen, seen.front)
    const before = held.get(keyOf(seen))
    if (!before) return { front, ahead, position, window: [] }
    const observation = {
      position,
      owned,
      committed: position !== before.position || ahead !== before.ahead,
      behind: Math.max(0, before.front - position),
    }
    return { front, ahead, position, window: [...before.window, observation].slice(-observations) }
  }

  function itemOf(seen: PartitionOffsets, { position, window }: Held, at: number): LagItem {
    const { groupTopic, partition, committed } = seen
    const { group, topic } = groupTopic
    const end = upTo(seen, seen.end)
    return {
      group,
      topic,
      partition,
      end,
      committed,
      lag: Math.max(0, end - position),
      lagSeconds: secondsOf(seen, position, at),
      status: statusOf(window, observations),
    }
  }

  function secondsOf(seen: PartitionOffsets, position: number, at: number): number | null {
    if (upTo(seen, seen.front) <= position) return 0
    if (seen.groupTopic.ranges) return null
    const since = curveOf(seen.groupTopic.topic, seen.partition).timeOf(position)
    return since === undefined ? null : Math.round((at - since) / 100) / 10
  }

  return {
    knows: (topic) => curves.has(topic),

    begin(topic, past) {
      curves.set(topic, new Map())
      for (const [partition, points] of past) points.forEach(curveOf(topic, partition).add)
    },

    add({ at, seen }) {
      const topics = new Set(seen.map(({ groupTopic }) => groupTopic.topic))
      for (const topic of curves.keys()) if (!topics.has(topic)) curves.delete(topic)
      const now = new Map<string, Held>()
      const items = seen.map((each) => {
        const position = positionOf(each)
        curveOf(each.groupTopic.topic, each.partition).add({ offset: each.front, at })
        const next = observed(each, position)
        now.set(keyOf(each), next)
        return itemOf(each, next, at)
      })
      held = now
      return items
    },
  }
}

const keyOf = ({ groupTopic: { group, topic }, partition }: PartitionOffsets) =>
  `${group} ${partitionKey(topic, partition)}`

/** From where the group goes on: at the earliest from the first record that there still is. */
const positionOf = ({ groupTopic, partition, committed, low }: PartitionOffsets) =>
  Math.max(low, committed ?? groupTopic.ranges?.get(partition)?.from ?? low)

const upTo = ({ groupTopic, partition }: PartitionOffsets, offset: number) =>
  Math.min(offset, groupTopic.ranges?.get(partition)?.to ?? offset)

/** Ten seconds ago, twice that, and so on up to a week: of what was there before this process, the age is known to a factor of two. */
const AGO_MS = Array.from({ length: 17 }, (_, index) => 10_000 * 2 ** index).reverse()

/**
 * How a topic's partitions have grown (of a rung: become due) before this process looked at them. Kafka finds offsets by time in
 * its index, which costs it little.
 * @param now ms since 1970.
 * @returns by partition, in the order of time.
 */
export async function readPast(
  offsets: Pick<Offsets, 'at'>,
  { topic, delayMs }: Pick<GroupTopic, 'topic' | 'delayMs'>,
  now: number,
): Promise<Map<number, Point[]>> {
  const found: (Point & { partition: number })[] = []
  // one after the other: this is not urgent
  for (const ago of AGO_MS) {
    const at = now - ago
    for (const place of await offsets.at(topic, at - delayMs)) found.push({ ...place, at })
  }
  return Map.groupBy(found, ({ partition }) => partition)
}

/** At `at` (ms since 1970) all before `offset` was there. */
export type Point = { offset: number; at: number }

/** How the end of a partition went up, as far as it was looked at. */
export type Curve = {
  /** In the order of time. */
  add(point: Point): void
  /** @returns about when the end passed this offset; undefined: before all that is known, or not yet. */
  timeOf(offset: number): number | undefined
  /** How many points are held: 256 at most. */
  size(): number
}

/** Points lie no further apart than the looks, or than this part of their age: 180 reach back a week. */
const SPACING = 1 / 8
const MOST = 256

/**
 * As Kafka Lag Exporter does: no record needs to be read. Between two points records are taken to have come at even distances, so
 * that a time is wrong by at most the distance of the two.
 */
export function createCurve(): Curve {
  let points: Point[] = []

  return {
    add(point) {
      const [last, before] = [points.at(-1), points.at(-2)]
      // the topic was made anew, or the clock set back: what is known is of another time
      if (last && (last.offset > point.offset || last.at > point.at)) points = []
      // while nothing comes, the first and the last look at it say all
      else if (last?.offset === point.offset && before?.offset === point.offset) points.pop()
      points.push(point)
      if (points.length > MOST) points = thinned(points, point.at)
    },

    timeOf(offset) {
      const index = points.findIndex((point) => point.offset > offset)
      const [left, right] = [points[index - 1], points[index]]
      if (!left || !right) return undefined
      const share = (offset + 0.5 - left.offset) / (right.offset - left.offset)
      return left.at + share * (right.at - left.at)
    },

    size: () => points.length,
  }
}

function thinned(points: readonly Point[], now: number): Point[] {
  const kept: Point[] = []
  for (const [index, point] of points.entries()) {
    const [before, after] = [kept.at(-1), points[index + 1]]
    const isNeeded = !before || !after || after.at - before.at > (now - point.at) * SPACING
    if (isNeeded) kept.push(point)
  }
  return kept.slice(-MOST)
}

/** How far each group was behind, all partitions together. `at`: ms since 1970. */
export type Moment = { at: number; groups: readonly Sum[] }
/** `lagSeconds`: of the partition that is furthest behind; null: not known of any. */
export type Sum = { group: string; lag: number; lagSeconds: number | null }

export type Hour = {
  /** To be called with each look; one in ten seconds is kept. */
  add(observe: { at: number; items: readonly LagItem[] }): void
  /** Oldest first. */
  all(): readonly Moment[]
}

const KEPT_MS = 60 * 60_000
const APART_MS = 10_000

/** The last hour of looks, for who comes to look when something has happened. */
export function createHour(): Hour {
  let moments: readonly Moment[] = []
  return {
    add({ at, items }) {
      // the clock was set back
      const before = moments.filter((moment) => moment.at < at)
      if (before.length > 0 && at - (before.at(-1)?.at ?? at) < APART_MS) return
      moments = [...before.filter((moment) => moment.at > at - KEPT_MS), { at, groups: sumsOf(items) }]
    },
    all: () => moments,
  }
}

function sumsOf(items: readonly LagItem[]): Sum[] {
  return [...Map.groupBy(items, ({ group }) => group)].map(([group, its]) => {
    const seconds = its.flatMap(({ lagSeconds }) => lagSeconds ?? [])
    return {
      group,
      lag: its.reduce((sum, { lag }) => sum + lag, 0),
      lagSeconds: seconds.length > 0 ? Math.max(...seconds) : null,
    }
  })
}
