import type { LookupAddress, LookupOptions } from 'node:dns'
import { readFileSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { allowed } from './address.ts'
import { dialled, hasIPv6 } from './dialled.ts'
import { ForbiddenAddress, faultOfAddresses, literalOf } from './guard.ts'
import { parseHosts } from './hosts.ts'
import { createNames, NameNotResolved } from './names.ts'

/** Stands before every request to a URL that a customer has chosen (docs/decisions/008). */
export type Egress = {
  /**
   * For the connect options of net, tls and undici: resolves a name, vets all its addresses, and gives the socket those very
   * ones. Fails with ForbiddenAddress when any is forbidden, else with NameNotResolved, in at most 3 s.
   */
  lookup: LookupFunction
  /** @throws ForbiddenAddress when the URL's host is an IP literal that webhooks may not reach: `lookup` is not called for these. */
  vetLiteral(url: URL): void
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
  /** Name servers as `address:port`; those of /etc/resolv.conf without it. */
  servers?: readonly string[]
  /** Text of a hosts file; the machine's own without it, as it is at the start. */
  hosts?: string
}

export function createEgress({ allow, servers, hosts = hostsOfMachine() }: EgressOptions): Egress {
  const letThrough = allowed(allow)
  const names = createNames({ hosts: parseHosts(hosts), servers })

  async function vetted(host: string, { family }: LookupOptions): Promise<LookupAddress[]> {
    const addresses = await names.addressesOf(host)
    const fault = faultOfAddresses(host, addresses, letThrough)
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
    const literal = literalOf(url)
    if (literal) return faultOfAddresses(literal, [{ address: literal }], letThrough)
    const addresses = await names.addressesOf(url.hostname).catch(() => [])
    return faultOfAddresses(url.hostname, addresses, letThrough)
  }

  function vetLiteral(url: URL): void {
    const literal = literalOf(url)
    const fault = literal && faultOfAddresses(literal, [{ address: literal }], letThrough)
    if (fault) throw new ForbiddenAddress(fault)
  }

  return { lookup, vetLiteral, faultOf, close: names.close }
}

function hostsOfMachine(): string {
  try {
    return readFileSync('/etc/hosts', 'utf8')
  } catch {
    // a machine may have none
    return ''
  }
}
