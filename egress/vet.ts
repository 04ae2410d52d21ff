import type { LookupAddress } from 'node:dns'
import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type Address, type Block, blockOf, isIn } from './blocks.ts'

/** `allow`: blocks that are not public, but allowed. `deny`: public blocks that are not allowed. */
export type AddressRules = { allow: readonly Block[]; deny: readonly Block[] }

/**
 * Why an address is forbidden; undefined if it is allowed. Only global unicast and EGRESS_ALLOW pass, minus
 * EGRESS_DENY, also through NAT64 (docs/decisions/008). A metadata service needs its exact address in EGRESS_ALLOW. An
 * allowed IPv4 address is also allowed as IPv4-mapped, but in no other IPv6 form.
 * @param address as the socket gets it. Other spellings (octal, one number) are `no_address`.
 */
export function forbidden(address: string, { allow, deny }: AddressRules): string | undefined {
  if (!isIP(address)) return 'no_address'
  // a zone names an interface of this machine
  if (address.includes('%')) return 'zone'
  const parsed = parse(address)
  const behind = behindNat64(parsed)
  if (deny.some((block) => isIn(parsed, block) || (behind && isIn(behind, block)))) return 'denied'
  const isMetadata = METADATA.has((behind ?? parsed).toNormalizedString())
  const least = isMetadata ? parsed.toByteArray().length * 8 : 0
  if (allow.some((block) => block[1] >= least && isIn(parsed, block))) return undefined
  if (behind) return forbiddenV4(behind)
  return parsed instanceof ipaddr.IPv6 ? forbiddenV6(parsed) : forbiddenV4(parsed)
}

/**
 * IPv4-mapped becomes IPv4. URL normalizes IPv6 first, as the library mistakes c-ares's `::127.0.0.1` (IPv4-compatible)
 * for IPv4-mapped.
 */
const parse = (address: string): Address =>
  ipaddr.process(isIPv4(address) ? address : new URL(`http://[${address}]`).hostname.slice(1, -1))

/** Azure's host agent. The address is public. */
const AZURE = '168.63.129.16'

/** These hand out credentials of cloud instances, containers and pods. */
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

/** Gateways of IPv6-only networks dial the IPv4 address at its end (RFC 6052, 2.1). */
const NAT64 = blockOf('64:ff9b::/96')

const behindNat64 = (address: Address): ipaddr.IPv4 | undefined =>
  isIn(address, NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : undefined

/** Only 2000::/3 is allocated. 6to4, Teredo and IPv4-compatible addresses are always refused. */
function forbiddenV6(address: ipaddr.IPv6): string | undefined {
  const range = address.range()
  if (range !== 'unicast') return range
  const [first = 0, , , , scope = 0, isatap = 0] = address.parts
  if (first >> 13 !== 1) return 'reserved'
  // ISATAP interface ids contain an IPv4 address (RFC 5214, 6.1), with either value of the universal bit
  return (scope & 0xfdff) === 0 && isatap === 0x5efe ? 'isatap' : undefined
}

/** Undefined if no CIDR could allow the address. */
export function singleBlock(address: string): string | undefined {
  if (!isIP(address) || address.includes('%')) return undefined
  const parsed = parse(address)
  return `${parsed.toString()}/${parsed.kind() === 'ipv4' ? 32 : 128}`
}

export class ForbiddenAddress extends Error {
  override name = 'ForbiddenAddress'
  readonly code = 'address_forbidden'
}

/** Without brackets; undefined when the host is a name. */
export function literalOf({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) ? host : undefined
}

/** `message`: for the customer. `logged`: only for operators. */
export type Refusal = { message: string; logged?: { host: string; address: string; reason: string } }

/**
 * If one address is forbidden, none is dialled. The message hides it, so that customers cannot map the internal
 * network.
 */
export function faultOfAddresses(
  host: string,
  addresses: readonly Pick<LookupAddress, 'address'>[],
  rules: AddressRules,
): Refusal | undefined {
  for (const { address } of addresses) {
    const reason = forbidden(address, rules)
    if (reason === undefined) continue
    // the address of localhost is no secret
    if (host !== address && !/(^|\.)localhost$/.test(host))
      return {
        message: `${host} resolves to an address that webhooks may not reach: use a public address. Operators find it in the log`,
        logged: { host, address, reason },
      }
    if (reason === 'denied') return { message: `webhooks may not reach ${host}: EGRESS_DENY lists it` }
    const where = host === address ? address : `${host} resolves to ${address}, which`
    const block = singleBlock(address)
    const orAllow = block === undefined ? '' : `, or list ${block} in EGRESS_ALLOW`
    return { message: `${where} is not public (${reason}): use a public address${orAllow}` }
  }
  return undefined
}

/** The first and last port of each range. */
export type Ports = readonly (readonly [number, number])[]

/** @param ports that webhooks may use; undefined for all. */
export function faultOfPort({ port, protocol }: URL, ports: Ports | undefined): string | undefined {
  const actual = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  if (!ports || ports.some(([first, last]) => first <= actual && actual <= last)) return undefined
  const all = ports.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(', ')
  return `webhooks may not use port ${actual}: use one of ${all} (EGRESS_PORTS)`
}
