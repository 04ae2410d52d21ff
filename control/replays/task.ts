import { randomUUID } from 'node:crypto'
import type { Range } from '../../kafka/range.ts'
import type { Replay } from '../../schemas/task.ts'
import type { Place } from './choose.ts'
import type { Wanted } from './decide.ts'

/** What is wanted, as it is written; where its records are is still to be found. `now`: ms since 1970. */
export function taskOf({ id = randomUUID(), reason, places, ...wanted }: Wanted, now: number): Replay {
  return {
    ...wanted,
    ...(reason !== undefined && { reason }),
    ...(places && { places }),
    kind: 'replay',
    id,
    createdAt: new Date(now).toISOString(),
    state: 'accepted',
    from: new Date(wanted.from).toISOString(),
    to: new Date(wanted.to).toISOString(),
    ranges: [],
    read: 0,
    replayed: 0,
    parked: 0,
  }
}

/** Of each partition one range that has them all. */
export function spanning(places: readonly Place[]): Range[] {
  const byPartition = Map.groupBy(places, ({ partition }) => partition)
  return [...byPartition].map(([partition, among]) => {
    const offsets = among.map(({ offset }) => offset)
    return { partition, from: Math.min(...offsets), to: Math.max(...offsets) + 1 }
  })
}
