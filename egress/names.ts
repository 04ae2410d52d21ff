import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { LRUCache, type Perf } from 'lru-cache'
import type { Answer } from './answer.ts'
import { ask, type Limits } from './ask.ts'
import { canonical, type Hosts, ownAddresses } from './hosts.ts'

/** Why a name has no address: `code` is ENOTFOUND, ETIMEOUT, ESERVFAIL or another of c-ares's. */
export class NameNotResolved extends Error {
  override name = 'NameNotResolved'
  readonly code: string
  constructor(host: string, code: string) {
    super(`${host} has no address: ${code}`)
    this.code = code
  }
}

export type Names = {
  /** @throws NameNotResolved within the limit. Never an empty list. */
  addressesOf(host: string): Promise<readonly LookupAddress[]>
  close(): void
}

export type NamesOptions = {
  hosts: Hosts
  /** `address:port` each, in place of those in /etc/resolv.conf. */
  servers?: readonly string[] | undefined
  limits?: Limits
  /** How many names are known at once. */
  mostNames?: number
  clock?: Perf
}

/** A delivery has 5 s for its look-up, the connection and the answer. */
const LIMITS: Limits = { limitMs: 3_000, graceMs: 500 }
/** c-ares drops an answer that comes after its try was given up: several long ones, of which the limit cuts off the last. */
const TRIES = { timeout: 1_000, tries: 4, maxTimeout: 2_000 }
const MOST_NAMES = 10_000

/** Names to addresses, each asked for once at a time and then known for as long as its records say. */
export function createNames(options: NamesOptions): Names {
  const { hosts, servers, limits = LIMITS, mostNames = MOST_NAMES, clock = performance } = options
  // c-ares: getaddrinfo would hold one of libuv's four threads for as long as a name server is silent
  const resolver = new Resolver(TRIES)
  if (servers) resolver.setServers(servers)
  const cache = new LRUCache<string, Answer>({
    max: mostNames,
    // each answer has its own
    ttl: 1,
    ttlResolution: 0,
    perf: clock,
    // pushed out by newer names, a look-up that is under way still answers who waits for it
    ignoreFetchAbort: true,
    async fetchMethod(name, _stale, { options: entry }) {
      const answer = await ask(name, resolver, limits)
      entry.ttl = answer.ttlMs
      return answer
    },
  })

  async function addressesOf(host: string): Promise<readonly LookupAddress[]> {
    const name = canonical(host)
    const own = ownAddresses(name, hosts)
    if (own) return own
    const answer = await cache.forceFetch(name)
    if ('code' in answer) throw new NameNotResolved(host, answer.code)
    return answer.addresses
  }

  return { addressesOf, close: () => resolver.cancel() }
}
