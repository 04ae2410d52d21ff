import type { LookupAddress, LookupOptions } from 'node:dns'
import { readFileSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { LRUCache } from 'lru-cache'
import type { Logger } from '../process/log.ts'
import { blockOf } from './blocks.ts'
import { dialled, hasIPv6 } from './dialled.ts'
import {
  ForbiddenAddress,
  faultOfAddresses,
  faultOfPort,
  literalOf,
  type Ports,
  type Refusal,
} from './guard.ts'
import { parseHosts } from './hosts.ts'
import { createNames, NameNotResolved } from './names.ts'

/** Stands before every request to a URL that a customer has chosen (docs/decisions/008). */
export type Egress = {
  /**
   * For the connect options of net, tls and undici: resolves a name, vets all its addresses, and gives the socket those very
   * ones. Fails with ForbiddenAddress when any is forbidden, else with NameNotResolved, in at most 3 s.
   */
  lookup: LookupFunction
  /**
   * What can be told without a look-up. @throws ForbiddenAddress when webhooks may not reach the URL's port, or its host is an IP literal that
   * they may not reach: `lookup` is not called for these.
   */
  vetUrl(url: URL): void
  /**
   * For saving: why a URL may not be reached now, by its addresses now; undefined when it may, or when its name has no
   * address yet. Never rejects; takes at most 3 s.
   */
  faultOf(url: URL): Promise<string | undefined>
  close(): void
}

export type EgressOptions = {
  /** CIDRs: EGRESS_ALLOW. */
  allow: readonly string[]
  /** CIDRs: EGRESS_DENY. */
  deny?: readonly string[]
  /** EGRESS_PORTS; without it all. */
  ports?: Ports | undefined
  /** Gets where a refused name leads. */
  log?: Pick<Logger, 'warn'>
  /** Name servers as `address:port`; those of /etc/resolv.conf without it. */
  servers?: readonly string[]
  /** Text of a hosts file; the machine's own without it, as it is at the start. */
  hosts?: string
}

/** A name that goes on being refused is logged so often. */
const LOG_AGAIN_MS = 60_000
const MOST_LOGGED = 1_000

export function createEgress(options: EgressOptions): Egress {
  const { allow, deny = [], ports, log, servers, hosts = hostsOfMachine() } = options
  const rules = { allow: allow.map(blockOf), deny: deny.map(blockOf) }
  const lately = new LRUCache<string, true>({ max: MOST_LOGGED, ttl: LOG_AGAIN_MS })
  const names = createNames({ hosts: parseHosts(hosts), servers })

  async function vetted(host: string, { family }: LookupOptions): Promise<LookupAddress[]> {
    const addresses = await names.addressesOf(host)
    const fault = told(faultOfAddresses(host, addresses, rules))
    if (fault) throw new ForbiddenAddress(fault)
    const some6 = addresses.some((address) => address.family === 6)
    const chosen = dialled(addresses, { family, hasIPv6: some6 && hasIPv6(networkInterfaces()) })
    if (chosen.length === 0) throw new NameNotResolved(host, 'ENOTFOUND')
    return chosen
  }

  const lookup: LookupFunction = (host, options, callback) => {
    vetted(host, options).then(
      (addresses) => {
        const [first] = addresses
        if (options.all) callback(null, addresses)
        else callback(null, first?.address ?? '', first?.family)
      },
      (error: Error) => callback(error, []),
    )
  }

  async function faultOf(url: URL): Promise<string | undefined> {
    const fault = faultOfUrl(url)
    if (fault || literalOf(url)) return fault
    const addresses = await names.addressesOf(url.hostname).catch(() => [])
    return told(faultOfAddresses(url.hostname, addresses, rules))
  }

  function faultOfUrl(url: URL): string | undefined {
    const literal = literalOf(url)
    return (
      faultOfPort(url, ports) ?? (literal && faultOfAddresses(literal, [{ address: literal }], rules)?.told)
    )
  }

  function vetUrl(url: URL): void {
    const fault = faultOfUrl(url)
    if (fault) throw new ForbiddenAddress(fault)
  }

  function told(refusal: Refusal | undefined): string | undefined {
    const { logged } = refusal ?? {}
    if (log && logged && !lately.has(logged.host)) {
      lately.set(logged.host, true)
      log.warn(
        logged,
        'the name of a webhook leads to an address that is not public, or denied: it is refused',
      )
    }
    return refusal?.told
  }

  return { lookup, vetUrl, faultOf, close: names.close }
}

function hostsOfMachine(): string {
  try {
    return readFileSync('/etc/hosts', 'utf8')
  } catch {
    // a machine may have none
    return ''
  }
}
