import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

export type Block = readonly [Address, number]

/** Turns an IPv4-mapped block into the IPv4 one. @param cidr validated by config-values.ts. */
export function blockOf(cidr: string): Block {
  const [network, bits] = ipaddr.parseCIDR(cidr)
  const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96
  return isMapped ? [network.toIPv4Address(), bits - 96] : [network, bits]
}

export const isIn = (address: Address, [network, bits]: Block): boolean =>
  network.kind() === address.kind() && address.match(network, bits)

/** Only the canonical form passes: `10/8`, `010.0.0.0/8` and surplus bits (`10.1.2.3/8`) may be mistakes. */
export function faultOfCidr(text: string): string | undefined {
  const [address = '', prefix = ''] = text.split('/')
  if (!isIP(address) || address.includes('%') || !/^\d{1,3}$/.test(prefix) || !ipaddr.isValidCIDR(text))
    return `"${text}" is not a CIDR like 10.0.0.0/8`
  const [, bits] = ipaddr.parseCIDR(text)
  const network =
    ipaddr.parse(address).kind() === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(text)
      : ipaddr.IPv6.networkAddressFromCIDR(text)
  const canonical = `${network}/${bits}`
  const isSame =
    network.toNormalizedString() === ipaddr.parse(address).toNormalizedString() && prefix === String(bits)
  return isSame ? undefined : `"${text}" has bits beyond its prefix: write ${canonical}`
}

/** Not public, by IANA's special-purpose registries. */
const SPECIAL: readonly Block[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::1/128',
  '64:ff9b::/96',
  '2001::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
].map(blockOf)

/** For a CIDR that contains a whole block that is not public. */
export function faultOfWidth(cidr: string): string | undefined {
  const [network, bits] = blockOf(cidr)
  const inside = SPECIAL.find(([special, width]) => bits < width && isIn(special, [network, bits]))
  return (
    inside &&
    `"${cidr}" is wider than ${inside[0]}/${inside[1]}, which is not public: list only the blocks that webhooks need`
  )
}
