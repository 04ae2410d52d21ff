import { partitionKey } from '../../kafka/committed.ts'
import { type Curve, createCurve, type Point } from './curve.ts'
import type { LagItem } from './item.ts'
import type { Look, Seen } from './look.ts'
import { type Observation, statusOf } from './status.ts'

/** What the looks up to now have shown. */
export type History = {
  /** Whether it has been told how the topic grew before the first look. */
  knows(topic: string): boolean
  begin(topic: string, past: ReadonlyMap<number, readonly Point[]>): void
  /** What is not in a look is gone. */
  add(look: Pick<Look, 'at' | 'seen'>): LagItem[]
}

/** What is known of a partition of a group: `front` and the commit of the last look, and what was observed up to it. */
type Held = Pick<Seen, 'front' | 'ahead'> & { position: number; window: Observation[] }

/** @param looks how many in a row say what state a partition is in. */
export function createHistory(looks: number): History {
  const curves = new Map<string, Map<number, Curve>>()
  let held = new Map<string, Held>()

  function curveOf(topic: string, partition: number): Curve {
    const ofTopic = curves.get(topic) ?? new Map<number, Curve>()
    curves.set(topic, ofTopic)
    const curve = ofTopic.get(partition) ?? createCurve()
    ofTopic.set(partition, curve)
    return curve
  }

  function observed(seen: Seen, position: number): Held {
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
    return { front, ahead, position, window: [...before.window, observation].slice(-looks) }
  }

  function itemOf(seen: Seen, { position, window }: Held, at: number): LagItem {
    const { reading, partition, committed } = seen
    const { group, topic } = reading
    const end = upTo(seen, seen.end)
    return {
      group,
      topic,
      partition,
      end,
      committed,
      lag: Math.max(0, end - position),
      lagSeconds: secondsOf(seen, position, at),
      status: statusOf(window, looks),
    }
  }

  function secondsOf(seen: Seen, position: number, at: number): number | null {
    if (upTo(seen, seen.front) <= position) return 0
    if (seen.reading.ranges) return null
    const since = curveOf(seen.reading.topic, seen.partition).timeOf(position)
    return since === undefined ? null : Math.round((at - since) / 100) / 10
  }

  return {
    knows: (topic) => curves.has(topic),

    begin(topic, past) {
      curves.set(topic, new Map())
      for (const [partition, points] of past) points.forEach(curveOf(topic, partition).add)
    },

    add({ at, seen }) {
      const topics = new Set(seen.map(({ reading }) => reading.topic))
      for (const topic of curves.keys()) if (!topics.has(topic)) curves.delete(topic)
      const now = new Map<string, Held>()
      const items = seen.map((each) => {
        const position = positionOf(each)
        curveOf(each.reading.topic, each.partition).add({ offset: each.front, at })
        const next = observed(each, position)
        now.set(keyOf(each), next)
        return itemOf(each, next, at)
      })
      held = now
      return items
    },
  }
}

const keyOf = ({ reading: { group, topic }, partition }: Seen) => `${group} ${partitionKey(topic, partition)}`

/** From where the group goes on: at the earliest from the first record that there still is. */
const positionOf = ({ reading, partition, committed, low }: Seen) =>
  Math.max(low, committed ?? reading.ranges?.get(partition)?.from ?? low)

const upTo = ({ reading, partition }: Seen, offset: number) =>
  Math.min(offset, reading.ranges?.get(partition)?.to ?? offset)
