import ipaddr from 'ipaddr.js'

/** Clears the last 8 bits of an IPv4 address (also one mapped to IPv6), or the last 80 of an IPv6 address. */
export function truncateAddress(address: string): string {
  const parsed = ipaddr.process(address)
  const keptBytes = parsed.kind() === 'ipv4' ? 3 : 6
  const bytes = parsed.toByteArray().map((byte, index) => (index < keptBytes ? byte : 0))
  return ipaddr.fromByteArray(bytes).toString()
}
