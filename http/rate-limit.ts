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

/** An IPv6 site (/48) has this many times the limit of one network. A customer can have a whole site: 65,536 of them. */
export const SITE_TIMES = 8

/** @param clock milliseconds, monotonic. */
export function createNetworkLimit(limit: RateLimit, clock: () => number): NetworkLimit {
  // created for the first network, because it allocates room for MAX_NETWORKS at once
  let buckets: LRUCache<string, Bucket> | undefined
  const siteLimit = { perSecond: limit.perSecond * SITE_TIMES, burst: limit.burst * SITE_TIMES }

  function limitsOf(ip: string | undefined): { name: string; limit: RateLimit }[] {
    const network = networkOf(ip)
    const site = siteOf(network)
    return [{ name: network, limit }, ...(site === undefined ? [] : [{ name: site, limit: siteLimit }])]
  }

  function waitFor(limits: ReturnType<typeof limitsOf>, now: number): number | undefined {
    const waits = limits.flatMap(({ name, limit }) => waitOf(buckets?.get(name), { limit, now }) ?? [])
    return waits.length === 0 ? undefined : Math.max(...waits)
  }

  return {
    wait: (ip) => waitFor(limitsOf(ip), clock()),
    draw(ip, cost) {
      const [limits, now] = [limitsOf(ip), clock()]
      const wait = waitFor(limits, now)
      if (wait !== undefined) return wait
      buckets ??= new LRUCache({ max: MAX_NETWORKS })
      for (const { name, limit } of limits) {
        const drawn = draw(buckets.get(name), { limit, cost, now })
        if (drawn.passed) buckets.set(name, drawn.bucket)
      }
      return undefined
    },
  }
}

/** Translators write IPv4 addresses into it, for servers that have only IPv6. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/**
 * The IPv4 address, even if mapped or translated to IPv6. For IPv6 the /64: no customer gets less. A copy: a slice of
 * X-Forwarded-For would keep the whole header in memory, up to 60 KB.
 */
export function networkOf(ip = ''): string {
  if (isIPv4(ip) || !ipaddr.isValid(ip)) return Buffer.from(ip).toString()
  const address = ipaddr.process(ip)
  if (address instanceof ipaddr.IPv4) return address.toString()
  if (address.match(NAT64)) return ipaddr.fromByteArray(address.toByteArray().slice(-4)).toString()
  return address.toNormalizedString().split(':').slice(0, 4).join(':')
}

/** Whose memory is limited: the IPv6 site or the IPv4 address, as one customer can have very many networks of a site. */
export function holderOf(ip: string): string {
  const network = networkOf(ip)
  return siteOf(network) ?? network
}

/** The /48 of an IPv6 network. */
export const siteOf = (network: string): string | undefined =>
  network.includes(':') ? network.slice(0, network.lastIndexOf(':')) : undefined
