import { alongTimes } from '../../../kafka/admin/along-times.ts'
import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { partitionKey } from '../../../kafka/topic-partition.ts'
import type { GroupTopic, PartitionOffsets, Snapshot } from './observe.ts'
import { type LagItem, type Observation, statusOf } from './status.ts'

export type History = {
  knows(topic: string): boolean
  begin(topic: string, past: ReadonlyMap<number, readonly Point[]>): void
  /** Forgets partitions that are missing from the observation. */
  add(snapshot: Pick<Snapshot, 'at' | 'seen'>): LagItem[]
}

type Held = Pick<PartitionOffsets, 'end' | 'front' | 'metadata'> & {
  position: number
  window: Observation[]
}

export function createHistory(observations: number): History {
  const curves = createCurves()
  let held = new Map<string, Held>()
  let heldAt = Number.NEGATIVE_INFINITY

  function itemOf(seen: PartitionOffsets, { position, window }: Held, at: number): LagItem {
    const { partition, committed } = seen
    const { group, topic } = seen.groupTopic
    const end = upTo(seen, seen.end)
    const lagSeconds = secondsOf(seen, position, { at, curve: curves.of(topic, partition) })
    const status = statusOf(window, observations)
    return { group, topic, partition, end, committed, lag: Math.max(0, end - position), lagSeconds, status }
  }

  return {
    knows: curves.has,
    begin: curves.begin,
    add({ at, seen }) {
      curves.keepOnly(new Set(seen.map(({ groupTopic }) => groupTopic.topic)))
      const now = new Map<string, Held>()
      const isClockBack = at < heldAt
      const items = seen.map((found) => {
        const before = held.get(keyOf(found))
        const each = before && !isClockBack ? neverBack(found, before) : found
        curves.of(each.groupTopic.topic, each.partition).add({ offset: each.front, at })
        const next = observed(each, before, observations)
        now.set(keyOf(each), next)
        return itemOf(each, next, at)
      })
      held = now
      heldAt = at
      return items
    },
  }
}

/** Deferrals of a batch are not in the order of their times, so a rung's front may be smaller than before. */
function neverBack(seen: PartitionOffsets, before: Held): PartitionOffsets {
  const isNewTopic = seen.end < before.end
  return isNewTopic ? seen : { ...seen, front: Math.max(seen.front, before.front) }
}

/** @param observations how many to keep. */
function observed(seen: PartitionOffsets, before: Held | undefined, observations: number): Held {
  const { owned, metadata, end } = seen
  const front = upTo(seen, seen.front)
  const position = positionOf(seen)
  if (!before) return { end, front, metadata, position, window: [] }
  const observation = {
    position,
    owned,
    committed: position !== before.position || metadata !== before.metadata,
    behind: Math.max(0, before.front - position),
  }
  return { end, front, metadata, position, window: [...before.window, observation].slice(-observations) }
}

function secondsOf(
  seen: PartitionOffsets,
  position: number,
  { at, curve }: { at: number; curve: Curve },
): number | null {
  if (upTo(seen, seen.front) <= position) return 0
  if (seen.groupTopic.ranges) return null
  const since = curve.timeOf(position)
  return since === undefined ? null : Math.round((at - since) / 100) / 10
}

const keyOf = ({ groupTopic: { group, topic }, partition }: PartitionOffsets) =>
  `${group} ${partitionKey(topic, partition)}`

/** Never before the first remaining record. */
const positionOf = ({ groupTopic, partition, committed, low }: PartitionOffsets) =>
  Math.max(low, committed ?? groupTopic.ranges?.get(partition)?.from ?? low)

const upTo = ({ groupTopic, partition }: PartitionOffsets, offset: number) =>
  Math.min(offset, groupTopic.ranges?.get(partition)?.to ?? offset)

/** From ten seconds to a week ago: the age of older records is accurate to a factor of two. */
const AGO_MS = Array.from({ length: 17 }, (_, index) => 10_000 * 2 ** index).reverse()

/**
 * How a topic grew (a rung: became due) before this process started. Kafka indexes offsets by time.
 * @param now ms since 1970.
 * @returns by partition, in time order.
 */
export async function readPast(
  offsets: Pick<Offsets, 'at'>,
  { topic, delayMs }: Pick<GroupTopic, 'topic' | 'delayMs'>,
  now: number,
): Promise<Map<number, Point[]>> {
  const times = AGO_MS.map((ago) => now - ago)
  const found = await alongTimes(times, (at) => offsets.at(topic, at - delayMs))
  const points = found.flatMap(({ time: at, answer }) => answer.map((place) => ({ ...place, at })))
  return Map.groupBy(points, ({ partition }) => partition)
}

/** At `at` (ms since 1970), everything before `offset` existed. */
export type Point = { offset: number; at: number }

export type Curve = {
  add(point: Point): void
  /** @returns roughly when the end passed this offset; undefined if unknown or still to come. */
  timeOf(offset: number): number | undefined
  size(): number
}

function createCurves() {
  const curves = new Map<string, Map<number, Curve>>()

  function of(topic: string, partition: number): Curve {
    const ofTopic = curves.get(topic) ?? new Map<number, Curve>()
    curves.set(topic, ofTopic)
    const curve = ofTopic.get(partition) ?? createCurve()
    ofTopic.set(partition, curve)
    return curve
  }

  return {
    of,
    has: (topic: string) => curves.has(topic),
    begin(topic: string, past: ReadonlyMap<number, readonly Point[]>): void {
      curves.set(topic, new Map())
      for (const [partition, points] of past) points.forEach(of(topic, partition).add)
    },
    keepOnly(topics: ReadonlySet<string>): void {
      for (const topic of curves.keys()) if (!topics.has(topic)) curves.delete(topic)
    },
  }
}

/** Relative to the age of points: 180 reach back a week. */
const SPACING = 1 / 8
const MAX_COUNT = 256

/** Interpolates like Kafka Lag Exporter, without reading records. Off by at most the distance of two points. */
export function createCurve(): Curve {
  let points: Point[] = []

  return {
    add(point) {
      const [last, before] = [points.at(-1), points.at(-2)]
      // the topic was recreated, or the clock was set back
      if (last && (last.offset > point.offset || last.at > point.at)) points = []
      else if (last?.offset === point.offset && before?.offset === point.offset) points.pop()
      points.push(point)
      if (points.length > MAX_COUNT) points = thinned(points, point.at)
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
  return kept.slice(-MAX_COUNT)
}

/** Lag of each group. `at`: ms since 1970. */
export type Moment = { at: number; groups: readonly Sum[] }
/** `lagSeconds`: of the partition furthest behind; null if unknown for all. */
export type Sum = { group: string; lag: number; lagSeconds: number | null }

export type Hour = {
  /** Stores the first observation in every ten seconds, by the clock. */
  add(snapshot: { at: number; items: readonly LagItem[] }): void
  all(): readonly Moment[]
}

const KEPT_MS = 60 * 60_000
const slotOf = (at: number) => Math.floor(at / 10_000)

export function createHour(): Hour {
  let moments: readonly Moment[] = []
  return {
    add({ at, items }) {
      // the clock was set back
      const before = moments.filter((moment) => moment.at < at)
      const last = before.at(-1)
      // not the time between them: five observations may take slightly less than ten seconds
      if (last && slotOf(last.at) === slotOf(at)) return
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
