import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { type AddressRules, forbidden, ownBlock } from './address.ts'

export class ForbiddenAddress extends Error {
  override name = 'ForbiddenAddress'
  readonly code = 'address_forbidden'
}

/** The address that a URL's host is, without brackets; undefined when it is a name. `new URL` has spelt it out already. */
export function literalOf({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) ? host : undefined
}

/** `told` to whoever has chosen the URL; `logged` for operators, with what only they may know. */
export type Refusal = { told: string; logged?: { host: string; address: string; reason: string } }

/**
 * Why none of these may be dialled, and what to do about it; one forbidden address among a name's is enough. Where a name leads inside of the
 * network is not told: whoever may set URLs could map it.
 */
export function faultOfAddresses(
  host: string,
  addresses: readonly Pick<LookupAddress, 'address'>[],
  rules: AddressRules,
): Refusal | undefined {
  for (const { address } of addresses) {
    const reason = forbidden(address, rules)
    if (reason === undefined) continue
    // what localhost is everybody knows
    if (host !== address && !/(^|\.)localhost$/.test(host))
      return {
        told: `${host} is at an address that webhooks may not reach: use a public address. Operators find it in the log`,
        logged: { host, address, reason },
      }
    if (reason === 'denied') return { told: `${host} may not be reached: EGRESS_DENY lists it` }
    const where = host === address ? address : `${host} is at ${address}, which`
    const block = ownBlock(address)
    const orAllow = block === undefined ? '' : `, or list ${block} in EGRESS_ALLOW`
    return { told: `${where} is not public (${reason}): use a public address${orAllow}` }
  }
  return undefined
}

/** First and last port of a range. */
export type Ports = readonly (readonly [number, number])[]

/** Why no URL may have this port. @param ports those that any may have; undefined: all. */
export function faultOfPort({ port, protocol }: URL, ports: Ports | undefined): string | undefined {
  const actual = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  if (!ports || ports.some(([first, last]) => first <= actual && actual <= last)) return undefined
  const all = ports.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(', ')
  return `port ${actual} may not be reached: use one of ${all} (EGRESS_PORTS)`
}
