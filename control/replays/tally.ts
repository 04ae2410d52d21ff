import type { Range } from '../../kafka/ranges.ts'

/** How far a replay is. */
export type Tally = {
  /** A record was handed over, and is through when `settled` is called with it. */
  taken(partition: number, offset: number): void
  settled(partition: number): void
  /** What is before these offsets was deleted before it could be read. */
  deleted(lows: ReadonlyMap<number, number>): void
  isComplete(): boolean
}

/** @param at where each partition is begun. */
export function createTally(ranges: readonly Range[], at: ReadonlyMap<number, number>): Tally {
  const parts = new Map(
    ranges.map(({ partition, from, to }) => [
      partition,
      { next: at.get(partition) ?? from, to, underWay: 0 },
    ]),
  )
  return {
    taken(partition, offset) {
      const part = parts.get(partition)
      if (!part) return
      part.next = Math.max(part.next, offset + 1)
      part.underWay += 1
    },
    settled(partition) {
      const part = parts.get(partition)
      if (part) part.underWay -= 1
    },
    deleted(lows) {
      for (const [partition, part] of parts) part.next = Math.max(part.next, lows.get(partition) ?? 0)
    },
    isComplete: () => [...parts.values()].every(({ next, to, underWay }) => next >= to && underWay === 0),
  }
}
