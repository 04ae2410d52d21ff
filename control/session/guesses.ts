import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { type Bucket, draw, type RateLimit } from '../../ingest/call/rate.ts'

/** Wrong tokens, of each address and of all together. */
export type Guesses = {
  /** Whole seconds until there have been few enough; undefined: there have. */
  wait(ip: string): number | undefined
  failed(ip: string): void
  succeeded(ip: string): void
  /** Whether a right token has come from there, within half a day. */
  knows(ip: string): boolean
}

const OF_ONE: RateLimit = { perSecond: 10 / 60, burst: 10 }
const OF_ALL: RateLimit = { perSecond: 100 / 60, burst: 100 }

const MOST_ADDRESSES = 10_000
const KNOWN_MS = 12 * 60 * 60_000

/** In memory, of one process. @param clock milliseconds, monotonic. */
export function createGuesses(clock: () => number): Guesses {
  const buckets = new LRUCache<string, Bucket>({ max: MOST_ADDRESSES })
  const known = new LRUCache<string, { at: number }>({ max: MOST_ADDRESSES })
  let all: Bucket | undefined

  return {
    wait(ip) {
      const now = clock()
      const drawn = [
        draw(buckets.get(networkOf(ip)), { limit: OF_ONE, calls: 0, now }),
        draw(all, { limit: OF_ALL, calls: 0, now }),
      ]
      const waits = drawn.flatMap((each) => (each.passed ? [] : [each.retryAfter]))
      return waits.length > 0 ? Math.max(...waits) : undefined
    },

    failed(ip) {
      const now = clock()
      const ofOne = draw(buckets.get(networkOf(ip)), { limit: OF_ONE, calls: 1, now })
      const ofAll = draw(all, { limit: OF_ALL, calls: 1, now })
      if (ofOne.passed) buckets.set(networkOf(ip), ofOne.bucket)
      if (ofAll.passed) all = ofAll.bucket
    },

    succeeded: (ip) => void known.set(networkOf(ip), { at: clock() }),

    knows(ip) {
      const last = known.get(networkOf(ip))
      return last !== undefined && clock() - last.at < KNOWN_MS
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
