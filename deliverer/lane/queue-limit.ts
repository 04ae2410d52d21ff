/** Each endpoint may always have so many waiting. */
export const LEAST_WAITING = 16

/**
 * How many deliveries may wait for one endpoint: as many as there is room left in the lane, so that a single one gets half
 * of it, two get a third each, and there is always some for others (dynamic thresholds, as switches share their buffers by); and
 * at any time what the endpoint has lately answered in a quarter of a second.
 * @param room what may wait in the lane, all endpoints together. @param perSecond answers of this endpoint of late.
 */
export function queueLimit({
  room,
  waiting,
  perSecond,
}: {
  room: number
  waiting: number
  perSecond: number
}): number {
  return Math.max(LEAST_WAITING, room - waiting, perSecond / 4)
}
