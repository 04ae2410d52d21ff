/** Lets so many begin in a while, and few of them at once. */
export type Pace = {
  allows(now: number): boolean
  begun(): void
}

/** @param perMs begin in a millisecond. @param atOnce when none has begun for a while; at least 1. */
export function createPace({ perMs, atOnce }: { perMs: number; atOnce: number }): Pace {
  let left = atOnce
  let filledAt = 0
  return {
    allows(now) {
      left = Math.min(atOnce, left + (now - filledAt) * perMs)
      filledAt = now
      return left >= 1
    },
    begun() {
      left -= 1
    },
  }
}
