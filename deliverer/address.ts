import ipaddr from 'ipaddr.js'

/** Azure's host agent: public by its number, private by its nature. */
const METADATA = new Set(['168.63.129.16'])

export type Allowed = readonly [ipaddr.IPv4 | ipaddr.IPv6, number][]

/** @param cidrs EGRESS_ALLOW, validated by config.ts. */
export const allowed = (cidrs: readonly string[]): Allowed => cidrs.map((cidr) => ipaddr.parseCIDR(cidr))

/**
 * Why a webhook must not reach this address; undefined when it may: only global unicast passes, or what EGRESS_ALLOW lists.
 * An IPv6 address that holds an IPv4 one is judged by that (design: delivery, "SSRF guard").
 */
export function forbidden(address: string, allow: Allowed): string | undefined {
  if (!ipaddr.isValid(address)) return 'no_address'
  const parsed = ipaddr.process(address)
  if (allow.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits)))
    return undefined
  const range = parsed.range()
  if (range !== 'unicast') return range
  if (parsed instanceof ipaddr.IPv6) return forbiddenV6(parsed)
  return METADATA.has(parsed.toString()) ? 'metadata' : undefined
}

/** Of IPv6 only 2000::/3 is given out; ISATAP's interface ids (RFC 5214) hold an IPv4 address. */
function forbiddenV6({ parts }: ipaddr.IPv6): string | undefined {
  const [first = 0, , , , scope = 0, isatap = 0] = parts
  if (first >> 13 !== 1) return 'reserved'
  return (scope & 0xfdff) === 0 && isatap === 0x5efe ? 'isatap' : undefined
}
