/** Each endpoint that is not in trouble may always have so many waiting. */
const LEAST = 16

export type QueueFacts = {
  /** What waits for this endpoint. */
  queued: { posts: number; bytes: number }
  /** What waits in the lane, all endpoints together, and how much of it may. */
  waiting: { posts: number; bytes: number }
  room: { posts: number; bytes: number }
  /** Answers of this endpoint of late. */
  perSecond: number
  /** Nothing of it has answered for a second. */
  inTrouble: boolean
}

/** Whether as much waits for an endpoint as may, by their number or by their bytes, of which each has one POST's at least. */
export function isQueueFull(facts: QueueFacts): boolean {
  const { queued, waiting, room } = facts
  return queued.posts >= queueLimit(facts) || (queued.bytes > 0 && queued.bytes >= room.bytes - waiting.bytes)
}

/**
 * How many POSTs may wait for one endpoint: as many as there is room left in the lane, so that a single one gets half of it,
 * two get a third each, and there is always some for others (dynamic thresholds, as switches share their buffers by); and at
 * any time what the endpoint has lately answered in a quarter of a second. For one in trouble a single one waits.
 */
function queueLimit({ room, waiting, perSecond, inTrouble }: QueueFacts): number {
  if (inTrouble) return waiting.posts < room.posts ? 1 : 0
  return Math.max(LEAST, room.posts - waiting.posts, perSecond / 4)
}
