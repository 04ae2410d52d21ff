import type { Range } from '../../kafka/range.ts'
import type { Replay } from '../../schemas/task.ts'
import { DELIVERIES, DUE, EVENTS, isRung, rungDelay, TASKS } from '../../schemas/topics.ts'
import { topicOf } from '../replays/make.ts'

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
