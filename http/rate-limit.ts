import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { type Bucket, draw, type RateLimit, waitOf } from '../process/token-bucket.ts'

/**
 * A token bucket for each network, in this process. `ip` is undefined if the client left before its connection was
 * accepted; such clients share a bucket.
 */
export type NetworkLimit = {
  /** @returns whole seconds to wait if the network is over its limit. */
  wait(ip: string | undefined): number | undefined
  /** May leave a debt. @returns as `wait`; a network over its limit loses nothing. */
  draw(ip: string | undefined, cost: number): number | undefined
}

/** Beyond this, the least recently used network is forgotten. */
const MAX_NETWORKS = 10_000

/** @param clock milliseconds, monotonic. */
export function createNetworkLimit(limit: RateLimit, clock: () => number): NetworkLimit {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_NETWORKS })
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

/**
 * The IPv4 address, even if mapped to IPv6. For IPv6 the /64, although many customers have more than one. A copy: a slice
 * of X-Forwarded-For would keep the whole header in memory, up to 60 KB.
 */
export function networkOf(ip = ''): string {
  if (isIPv4(ip) || !ipaddr.isValid(ip)) return Buffer.from(ip).toString()
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv6'
    ? address.toNormalizedString().split(':').slice(0, 4).join(':')
    : address.toString()
}
