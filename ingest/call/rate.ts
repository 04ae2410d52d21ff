import type { Source } from '../../schemas/settings.ts'

/** A source's setting: calls a second in the long run, and how many at once. */
export type RateLimit = NonNullable<Source['rateLimit']>

/** Of a token bucket: what was in it at the time `at`, in milliseconds of a monotonic clock. Below zero it is a debt. */
export type Bucket = { tokens: number; at: number }

/** `retryAfter`: whole seconds after which a request passes; when that is longer than 300, it will be told so again. */
export type Drawn = { passed: true; bucket: Bucket } | { passed: false; retryAfter: number }

const LONGEST_S = 300
/** Seconds that rounding may take from a client that has waited for as long as it was told. */
const ROUNDING_S = 1e-6

/**
 * Whether a request of so many calls passes (docs/control-api.md, "Limit a source, drop a user"). It does when there is one token at least, and
 * costs one for each call: a batch larger than the bucket is not refused for ever, it leaves a debt to wait for.
 * @param bucket undefined: a full one.
 */
export function draw(
  bucket: Bucket | undefined,
  { limit: { perSecond, burst }, calls, now }: { limit: RateLimit; calls: number; now: number },
): Drawn {
  const tokens = bucket ? Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond) : burst
  const wait = (1 - tokens) / perSecond
  if (wait <= ROUNDING_S) return { passed: true, bucket: { tokens: tokens - calls, at: now } }
  return { passed: false, retryAfter: Math.min(LONGEST_S, Math.ceil(wait - ROUNDING_S)) }
}
