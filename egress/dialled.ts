import type { LookupAddress, LookupOptions } from 'node:dns'
import type { NetworkInterfaceInfo } from 'node:os'

type Interfaces = NodeJS.Dict<Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>

/** Whether this machine has an address from which other machines' IPv6 addresses can be reached. */
export function hasIPv6(interfaces: Interfaces): boolean {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? [])
  return all.some(
    ({ address, family, internal }) => family === 'IPv6' && !internal && !/^fe[89ab]/i.test(address),
  )
}

/**
 * The vetted addresses that are worth a try. Without IPv6 its addresses are left out, loopback aside: the socket gives an
 * address a share of the time while others follow, and must not give up a slow receiver for one that it cannot reach. Never empty for a
 * reason of this machine alone: what is tried then fails with a code that says why.
 */
export function dialled(
  addresses: readonly LookupAddress[],
  { family, hasIPv6 }: { family: LookupOptions['family']; hasIPv6: boolean },
): LookupAddress[] {
  const wanted = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family
  const fitting = addresses.filter((each) => !wanted || each.family === wanted)
  const reachable = fitting.filter((each) => hasIPv6 || each.family === 4 || each.address === '::1')
  return reachable.length > 0 ? reachable : fitting
}
