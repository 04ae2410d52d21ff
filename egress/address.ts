import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type Address, type Block, isIn } from './blocks.ts'

/** `allow`: blocks that webhooks may reach although they are not public. `deny`: those that they may not, although they are. */
export type AddressRules = { allow: readonly Block[]; deny: readonly Block[] }

/**
 * Why a webhook must not reach this address, as the name of its range; undefined when it may: only global unicast passes, or
 * what EGRESS_ALLOW lists, and nothing of EGRESS_DENY (docs/decisions/008). Metadata services are allowed by their very address
 * alone, and by no wider block. An allowed IPv4 address is also allowed in its IPv4-mapped form,
 * which is dialled as IPv4; in any other form that holds it a packet takes another way, to an address that nobody allowed.
 * @param address as the socket would get it; other ways of writing an address (octal, one number) are `no_address`.
 */
export function forbidden(address: string, { allow, deny }: AddressRules): string | undefined {
  if (!isIP(address)) return 'no_address'
  // a zone names an interface of this machine: no receiver is there
  if (address.includes('%')) return 'zone'
  const parsed = parse(address)
  if (deny.some((block) => isIn(parsed, block))) return 'denied'
  const least = METADATA.has(parsed.toNormalizedString()) ? parsed.toByteArray().length * 8 : 0
  if (allow.some((block) => block[1] >= least && isIn(parsed, block))) return undefined
  return parsed instanceof ipaddr.IPv6 ? forbiddenV6(parsed) : forbiddenV4(parsed)
}

/**
 * An IPv4-mapped address is the IPv4 one. As URLs spell it, since the library reads `::127.0.0.1`, which is how c-ares writes an
 * IPv4-compatible address, as IPv4-mapped.
 */
const parse = (address: string): Address =>
  ipaddr.process(isIPv4(address) ? address : new URL(`http://[${address}]`).hostname.slice(1, -1))

/** Azure's host agent: public by its number, not by its nature. */
const AZURE = '168.63.129.16'

/** Whoever reaches one of these gets credentials: of clouds' instances, containers and pods. */
const METADATA: ReadonlySet<string> = new Set(
  [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '100.100.100.200',
    AZURE,
    'fd00:ec2::254',
    'fd00:ec2::23',
  ].map((address) => ipaddr.parse(address).toNormalizedString()),
)

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
export function ownBlock(address: string): string | undefined {
  if (!isIP(address) || address.includes('%')) return undefined
  const parsed = parse(address)
  return `${parsed.toString()}/${parsed.kind() === 'ipv4' ? 32 : 128}`
}
