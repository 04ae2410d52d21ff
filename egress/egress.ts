import type { LookupAddress, LookupOptions } from 'node:dns'
import { readFileSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { getCACertificates } from 'node:tls'
import { createLogLimit, type Logger } from '../process/log.ts'
import { readCertificates } from '../process/pem.ts'
import { blockOf } from './blocks.ts'
import { parseHosts } from './hosts-file.ts'
import { createResolver, NameNotResolved } from './resolve.ts'
import {
  ForbiddenAddress,
  faultOfAddresses,
  faultOfPort,
  literalOf,
  type Ports,
  type Refusal,
} from './vet.ts'

/** Guards every request to a URL that a customer has chosen (docs/decisions/008). */
export type Egress = {
  /**
   * Resolves a name, vets all its addresses, and gives the socket exactly these. Fails with ForbiddenAddress if any is
   * forbidden, or NameNotResolved within 3 s.
   */
  lookup: LookupFunction
  /** Vets the port and an IP literal, which needs no `lookup`. @throws ForbiddenAddress */
  vetUrl(url: URL): void
  /**
   * For saving settings: why webhooks may not reach a URL; undefined when they may, or without an address yet. Never
   * rejects; takes at most 3 s.
   */
  faultOf(url: URL): Promise<string | undefined>
  close(): void
}

export type EgressOptions = {
  allow: readonly string[]
  deny?: readonly string[]
  /** EGRESS_PORTS. All by default. */
  ports?: Ports | undefined
  log?: Pick<Logger, 'warn'>
  /** `address:port` each. By default those of /etc/resolv.conf. */
  servers?: readonly string[]
  /** By default the machine's own, read once. */
  hosts?: string
}

const LOG_EVERY_MS = 60_000

export function createEgress(options: EgressOptions): Egress {
  const { allow, deny = [], ports, log, servers, hosts = hostsOfMachine() } = options
  const rules = { allow: allow.map(blockOf), deny: deny.map(blockOf) }
  const mayLog = createLogLimit(LOG_EVERY_MS)
  const resolver = createResolver({ hosts: parseHosts(hosts), servers })

  async function vetted(host: string, { family }: LookupOptions): Promise<LookupAddress[]> {
    const addresses = await resolver.addressesOf(host)
    const fault = messageOf(faultOfAddresses(host, addresses, rules))
    if (fault) throw new ForbiddenAddress(fault)
    const anyIPv6 = addresses.some((address) => address.family === 6)
    const chosen = reachable(addresses, { family, hasIPv6: anyIPv6 && hasIPv6(networkInterfaces()) })
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
    const addresses = await resolver.addressesOf(url.hostname).catch(() => [])
    return messageOf(faultOfAddresses(url.hostname, addresses, rules))
  }

  function faultOfUrl(url: URL): string | undefined {
    const literal = literalOf(url)
    return (
      faultOfPort(url, ports) ??
      (literal && faultOfAddresses(literal, [{ address: literal }], rules)?.message)
    )
  }

  function vetUrl(url: URL): void {
    const fault = faultOfUrl(url)
    if (fault) throw new ForbiddenAddress(fault)
  }

  function messageOf(refusal: Refusal | undefined): string | undefined {
    const { logged } = refusal ?? {}
    if (log && logged && mayLog(logged.host))
      log.warn(logged, 'a webhook is refused: its name resolves to an address that is denied or not public')
    return refusal?.message
  }

  return { lookup, vetUrl, faultOf, close: resolver.close }
}

function hostsOfMachine(): string {
  try {
    return readFileSync('/etc/hosts', 'utf8')
  } catch {
    return ''
  }
}

type Interfaces = NodeJS.Dict<Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>

export function hasIPv6(interfaces: Interfaces): boolean {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? [])
  return all.some(
    ({ address, family, internal }) => family === 'IPv6' && !internal && !/^fe[89ab]/i.test(address),
  )
}

/**
 * Each address gets a share of the time, so IPv6 ones are left out without IPv6 on this machine, except loopback. If no
 * others are left they are dialled anyway, so that the failure has a code.
 */
export function reachable(
  addresses: readonly LookupAddress[],
  { family, hasIPv6 }: { family: LookupOptions['family']; hasIPv6: boolean },
): LookupAddress[] {
  const number = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family
  const matching = addresses.filter((each) => !number || each.family === number)
  const dialable = matching.filter((each) => hasIPv6 || each.family === 4 || each.address === '::1')
  return dialable.length > 0 ? dialable : matching
}

/**
 * PEM: Node's own roots and those of the file.
 * @throws ConfigError naming EGRESS_CA when the file is unreadable or not only certificates.
 */
export function trustedRoots(caFile: string | undefined): string[] | undefined {
  if (caFile === undefined) return undefined
  return [...getCACertificates('default'), readCertificates('EGRESS_CA', caFile)]
}
