/**
 * How many POSTs one endpoint may have under way in a lane: it grows with each answer while it is used up, so it doubles in the
 * time of one exchange, and shrinks by an eighth with each time-out. Where a share p of POSTs times out it settles near
 * 8(1 - p)/p: 400 at 2 %, 72 at 10 %, 8 at half (docs/decisions/009).
 */
export const LEAST_CAP = 4

const SHRINKS_BY = 1 / 8

/**
 * After an answer, or for a slow endpoint when a POST comes for it (line.ts).
 * @param inFlight POSTs under way, the one answered among them; of a slow endpoint also those that wait. @param most half of the
 * lane's slots.
 */
export function capUsedUp(cap: number, { inFlight, most }: { inFlight: number; most: number }): number {
  return inFlight >= Math.floor(cap) ? Math.min(cap + 1, Math.max(most, LEAST_CAP)) : cap
}

export const capAfterTimeout = (cap: number) => Math.max(LEAST_CAP, cap * (1 - SHRINKS_BY))

/** What is not used is not kept: an endpoint that dies takes no more slots than it needed of late. @param peak most under way in a while. */
export const capAfterWhile = (cap: number, peak: number) => Math.max(LEAST_CAP, Math.min(cap, peak * 2))
