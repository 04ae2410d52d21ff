/** Calls or bytes. */
export type RateLimit = { perSecond: number; burst: number }

/** `at`: ms of a monotonic clock. Negative tokens are a debt. */
export type Bucket = { tokens: number; at: number }

/** `retryAfter`: whole seconds, at most 300. */
export type Drawn = { passed: true; bucket: Bucket } | { passed: false; retryAfter: number }

const LONGEST_S = 300
/** Rounding tolerance: a client that waited for `retryAfter` must pass. */
const ROUNDING_S = 1e-6

/**
 * A request passes if there is at least one token. It takes its whole cost and may leave a debt
 * (docs/guides/sources.md, "Rate limits").
 * @param bucket undefined: a full one.
 */
export function draw(
  bucket: Bucket | undefined,
  { limit, cost, now }: { limit: RateLimit; cost: number; now: number },
): Drawn {
  const retryAfter = waitOf(bucket, { limit, now })
  if (retryAfter !== undefined) return { passed: false, retryAfter }
  return { passed: true, bucket: { tokens: tokensAt(bucket, limit, now) - cost, at: now } }
}

/** @returns whole seconds until there is a token, at most 300; undefined if there is one. */
export function waitOf(
  bucket: Bucket | undefined,
  { limit, now }: { limit: RateLimit; now: number },
): number | undefined {
  const wait = (1 - tokensAt(bucket, limit, now)) / limit.perSecond
  return wait <= ROUNDING_S ? undefined : Math.min(LONGEST_S, Math.ceil(wait - ROUNDING_S))
}

function tokensAt(bucket: Bucket | undefined, { perSecond, burst }: RateLimit, now: number): number {
  return bucket ? Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond) : burst
}

/** Keeps its own state and starts full. Times are ms of a monotonic clock. */
export type TokenBucket = {
  allows(now: number): boolean
  /** Leaves a debt when there is no token, because work may begin some time after it was allowed. */
  take(now: number): void
}

/** @param limit `burst` is at least 1. */
export function createTokenBucket(limit: RateLimit): TokenBucket {
  let bucket: Bucket | undefined
  return {
    allows: (now) => waitOf(bucket, { limit, now }) === undefined,
    take(now) {
      bucket = { tokens: tokensAt(bucket, limit, now) - 1, at: now }
    },
  }
}
