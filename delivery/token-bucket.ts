import { type Bucket, draw, type RateLimit, waitOf } from '../http/rate-limit.ts'

/** A token bucket that keeps its own state. Times are milliseconds of a monotonic clock. */
export type TokenBucket = {
  allows(now: number): boolean
  /** Takes a token. Call `allows` first. */
  take(now: number): void
}

/** @param limit `burst` is at least 1. */
export function createTokenBucket(limit: RateLimit): TokenBucket {
  let bucket: Bucket | undefined
  return {
    allows: (now) => waitOf(bucket, { limit, now }) === undefined,
    take(now) {
      const drawn = draw(bucket, { limit, cost: 1, now })
      if (drawn.passed) bucket = drawn.bucket
    },
  }
}
