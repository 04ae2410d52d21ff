import type { Begun } from '../../kafka/tail.ts'
import type { Place } from '../newest/place.ts'

type Where = Pick<Place, 'partition' | 'offset'>

/** Of each partition the first offset that the topic has. */
export type Lows = ReadonlyMap<number, { low: number }>

/** How much of a topic is held: of each partition all from some offset on. */
export type Extent = {
  begun(begun: readonly Begun[]): void
  dropped(place: Where): void
  /** Whether the topic has more than is held. */
  isPartial(lows: Lows): boolean
}

export function createExtent(): Extent {
  const heldFrom = new Map<number, number>()
  const raise = (partition: number, offset: number) =>
    heldFrom.set(partition, Math.max(heldFrom.get(partition) ?? 0, offset))
  return {
    begun(begun) {
      for (const { partition, from } of begun) raise(partition, from)
    },
    dropped: ({ partition, offset }) => void raise(partition, offset + 1),
    isPartial: (lows) => [...lows].some(([partition, { low }]) => low < (heldFrom.get(partition) ?? 0)),
  }
}

/** @returns whether the topic still has it. */
export const isThere = (lows: Lows, { partition, offset }: Where): boolean =>
  offset >= (lows.get(partition)?.low ?? 0)
