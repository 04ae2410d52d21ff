import type { Held } from './assignment.ts'

/** How far a consumer is with a topic, as it says itself. From outside the same is seen as lag (control/lag/). */
export type Load = {
  group: string
  topic: string
  /** Those of the topic that it has. */
  partitions: number
  /** Records that were fetched and are not settled. */
  unsettled: number
  /** The time of the oldest of them, ms since 1970. */
  oldest: number | undefined
  /** Records put aside since the start. */
  parked: number
}

export function loadOf(
  held: readonly Pick<Held, 'tracker'>[],
): Pick<Load, 'partitions' | 'unsettled' | 'oldest'> {
  const times = held.flatMap(({ tracker }) => tracker.oldest() ?? [])
  return {
    partitions: held.length,
    unsettled: held.reduce((sum, { tracker }) => sum + tracker.unsettled(), 0),
    oldest: times.length > 0 ? Math.min(...times) : undefined,
  }
}
