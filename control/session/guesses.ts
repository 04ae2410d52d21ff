import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { type Bucket, draw, type RateLimit } from '../../ingest/call/rate.ts'

/** Wrong tokens, by the address that they come from. */
export type Guesses = {
  /** Counts one more. @returns whole seconds to wait, when too many have come from there of late. */
  wrong(ip: string): number | undefined
}

const LIMIT: RateLimit = { perSecond: 10 / 60, burst: 10 }
const MOST_ADDRESSES = 10_000

/** In memory, of one process. @param clock milliseconds, monotonic. */
export function createGuesses(clock: () => number): Guesses {
  const buckets = new LRUCache<string, Bucket>({ max: MOST_ADDRESSES })
  return {
    wrong(ip) {
      const network = networkOf(ip)
      const drawn = draw(buckets.get(network), { limit: LIMIT, calls: 1, now: clock() })
      if (!drawn.passed) return drawn.retryAfter
      buckets.set(network, drawn.bucket)
      return undefined
    },
  }
}

/** Who has one IPv6 address has 2^64 of them. */
function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv6'
    ? address.toNormalizedString().split(':').slice(0, 4).join(':')
    : address.toString()
}
