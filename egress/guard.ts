import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { type Allowed, blockOf, forbidden } from './address.ts'

export class ForbiddenAddress extends Error {
  override name = 'ForbiddenAddress'
  readonly code = 'address_forbidden'
}

/** The address that a URL's host is, without brackets; undefined when it is a name. `new URL` has spelt it out already. */
export function literalOf({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) ? host : undefined
}

/** Why none of these may be dialled, and what to do about it; one forbidden address among a name's is enough. */
export function faultOfAddresses(
  host: string,
  addresses: readonly Pick<LookupAddress, 'address'>[],
  allow: Allowed,
): string | undefined {
  for (const { address } of addresses) {
    const reason = forbidden(address, allow)
    if (reason === undefined) continue
    const where = host === address ? address : `${host} is at ${address}, which`
    const block = blockOf(address)
    const orAllow = block === undefined ? '' : `, or list ${block} in EGRESS_ALLOW`
    return `${where} is not public (${reason}): use a public address${orAllow}`
  }
  return undefined
}
