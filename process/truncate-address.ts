import ipaddr from 'ipaddr.js'

/**
 * Clears the last 8 bits of an IPv4 address, or the last 80 of an IPv6 address. IPv4 mapped to IPv6 counts as IPv4.
 *
 * @param address must be valid for ipaddr.js.
 */
export function truncateAddress(address: string): string {
  const parsed = ipaddr.process(address)
  const keptBytes = parsed.kind() === 'ipv4' ? 3 : 6
  const bytes = parsed.toByteArray().map((byte, index) => (index < keptBytes ? byte : 0))
  return ipaddr.fromByteArray(bytes).toString()
}
