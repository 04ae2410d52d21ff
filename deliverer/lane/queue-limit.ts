/** Each endpoint that is not in trouble may always have so many waiting. */
const LEAST = 16

export type QueueFacts = {
  /** What may wait in the lane, all endpoints together. */
  room: number
  waiting: number
  /** Answers of this endpoint of late. */
  perSecond: number
  /** Nothing of it has answered for a second. */
  inTrouble: boolean
}

/**
 * How many POSTs may wait for one endpoint: as many as there is room left in the lane, so that a single one gets half of it,
 * two get a third each, and there is always some for others (dynamic thresholds, as switches share their buffers by); and at
 * any time what the endpoint has lately answered in a quarter of a second. For one in trouble a single one waits. The bytes of what
 * waits have a room of their own, which is shared in the same way (lane.ts).
 */
export function queueLimit({ room, waiting, perSecond, inTrouble }: QueueFacts): number {
  if (inTrouble) return waiting < room ? 1 : 0
  return Math.max(LEAST, room - waiting, perSecond / 4)
}
