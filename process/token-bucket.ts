/** How much passes: so much a second in the long run, and so much at once. Calls, or bytes. */
export type RateLimit = { perSecond: number; burst: number }

/** Of a token bucket: what was in it at the time `at`, in milliseconds of a monotonic clock. Below zero it is a debt. */
export type Bucket = { tokens: number; at: number }

/** `retryAfter`: whole seconds after which a request passes; when that is longer than 300, it will be told so again. */
export type Drawn = { passed: true; bucket: Bucket } | { passed: false; retryAfter: number }

const LONGEST_S = 300
/** Seconds that rounding may take from a client that has waited for as long as it was told. */
const ROUNDING_S = 1e-6

/**
 * Whether a request passes (docs/control-api.md, "Limit a source, drop a user"). It does when there is one token at least, and takes as many
 * as it costs: one that costs more than the bucket holds is not refused for ever, it leaves a debt to wait for.
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

/** @returns whole seconds, at most 300, until there is one token; undefined when there is. */
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

/** @returns takes one token if there is one; the bucket starts full. `now`: milliseconds that never go back. */
export function createTokenBucket(limit: RateLimit): (now: number) => boolean {
  let bucket: Bucket | undefined
  return (now) => {
    const drawn = draw(bucket, { limit, cost: 1, now })
    if (drawn.passed) bucket = drawn.bucket
    return drawn.passed
  }
}
