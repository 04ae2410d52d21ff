import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Blocks that webhooks may reach although they are not public: network and prefix length. */
export type Allowed = readonly (readonly [Address, number])[]

/** @param cidrs EGRESS_ALLOW, validated by config.ts. An IPv4 block written as an IPv4-mapped one is that IPv4 block. */
export const allowed = (cidrs: readonly string[]): Allowed =>
  cidrs.map((cidr): [Address, number] => {
    const [network, bits] = ipaddr.parseCIDR(cidr)
    const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96
    return isMapped ? [network.toIPv4Address(), bits - 96] : [network, bits]
  })

/**
 * Why a webhook must not reach this address, as the name of its range; undefined when it may: only global unicast passes, or
 * what EGRESS_ALLOW lists (docs/decisions/008). An allowed IPv4 address is also allowed in its IPv4-mapped form,
 * which is dialled as IPv4; in any other form that holds it a packet takes another way, to an address that nobody allowed.
 * @param address as the socket would get it; other ways of writing an address (octal, one number) are `no_address`.
 */
export function forbidden(address: string, allow: Allowed): string | undefined {
  if (!isIP(address)) return 'no_address'
  // a zone names an interface of this machine: no receiver is there
  if (address.includes('%')) return 'zone'
  const parsed = parse(address)
  if (allow.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits)))
    return undefined
  return parsed instanceof ipaddr.IPv6 ? forbiddenV6(parsed) : forbiddenV4(parsed)
}

/**
 * An IPv4-mapped address is the IPv4 one. As URLs spell it, since the library reads `::127.0.0.1`, which is how c-ares writes an
 * IPv4-compatible address, as IPv4-mapped.
 */
const parse = (address: string): Address =>
  ipaddr.process(isIPv4(address) ? address : new URL(`http://[${address}]`).hostname.slice(1, -1))

/** Azure's host agent: public by its number, not by its nature. All other metadata services are in ranges that are refused. */
const AZURE = '168.63.129.16'

function forbiddenV4(address: ipaddr.IPv4): string | undefined {
  const range = address.range()
  if (range !== 'unicast') return range
  return address.toString() === AZURE ? 'metadata' : undefined
}

/** The one prefix whose gateways dial the IPv4 address at its end (RFC 6052, 2.1): what IPv6-only networks reach IPv4 by. */
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96')

/** Of IPv6 only 2000::/3 is given out. 6to4, Teredo and IPv4-compatible addresses are refused whatever they hold. */
function forbiddenV6(address: ipaddr.IPv6): string | undefined {
  if (address.match(NAT64)) return forbiddenV4(new ipaddr.IPv4(address.toByteArray().slice(12)))
  const range = address.range()
  if (range !== 'unicast') return range
  const [first = 0, , , , scope = 0, isatap = 0] = address.parts
  if (first >> 13 !== 1) return 'reserved'
  // ISATAP's interface ids hold an IPv4 address (RFC 5214, 6.1), with either value of their universal bit
  return (scope & 0xfdff) === 0 && isatap === 0x5efe ? 'isatap' : undefined
}

/** The CIDR that would allow this address and no other; undefined for what none would. */
export function blockOf(address: string): string | undefined {
  if (!isIP(address) || address.includes('%')) return undefined
  const parsed = parse(address)
  return `${parsed.toString()}/${parsed.kind() === 'ipv4' ? 32 : 128}`
}
