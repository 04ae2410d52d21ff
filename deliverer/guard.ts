import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { type Allowed, forbidden } from './address.ts'

export class ForbiddenAddress extends Error {
  override name = 'ForbiddenAddress'
  readonly code = 'address_forbidden'
}

/**
 * Looks a name up and vets the addresses that will be dialled: one forbidden address among them refuses the name.
 * Not called for IP literals: see `literal`.
 */
export function guardedLookup(allow: Allowed): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const bad = addresses.find(({ address }) => forbidden(address, allow))
      if (bad)
        return callback(
          new ForbiddenAddress(`${hostname} is at ${bad.address}, which webhooks may not reach`),
          [],
        )
      callback(null, addresses)
    })
  }
}

/** @throws ForbiddenAddress when the URL's host is an IP literal that webhooks may not reach. */
export function vetLiteral({ hostname }: URL, allow: Allowed): void {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) && forbidden(host, allow)) throw new ForbiddenAddress(`webhooks may not reach ${host}`)
}
