import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

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
 * Whether a request passes (docs/guides/sources.md, "Rate limits"). It does when there is one token at least, and takes as many
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

/** Bounds what one network may cost: a token bucket for each, in the memory of one process. */
export type NetworkLimit = {
  /** @returns whole seconds to wait when this network has had its share, else undefined. */
  wait(ip: string): number | undefined
  /** Takes so much from its bucket, which may leave a debt. @returns as `wait`: when it had its share before, nothing is taken. */
  draw(ip: string, cost: number): number | undefined
}

/** Above it the network that was not seen for the longest time is forgotten. */
const MOST_NETWORKS = 10_000

/** @param clock milliseconds, monotonic. */
export function createNetworkLimit(limit: RateLimit, clock: () => number): NetworkLimit {
  const buckets = new LRUCache<string, Bucket>({ max: MOST_NETWORKS })
  return {
    wait: (ip) => waitOf(buckets.get(networkOf(ip)), { limit, now: clock() }),
    draw(ip, cost) {
      const network = networkOf(ip)
      const drawn = draw(buckets.get(network), { limit, cost, now: clock() })
      if (!drawn.passed) return drawn.retryAfter
      buckets.set(network, drawn.bucket)
      return undefined
    },
  }
}

/** An IPv4 address, also one that is mapped into IPv6; of IPv6 the /64, as who has one address of it has all of them. */
export function networkOf(ip: string): string {
  if (isIPv4(ip) || !ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv6'
    ? address.toNormalizedString().split(':').slice(0, 4).join(':')
    : address.toString()
}
