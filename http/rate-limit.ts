import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { type Bucket, draw, type RateLimit, waitOf } from '../process/token-bucket.ts'

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
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv6'
    ? address.toNormalizedString().split(':').slice(0, 4).join(':')
    : address.toString()
}
