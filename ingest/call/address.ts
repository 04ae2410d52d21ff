import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { truncateAddress } from '../../process/truncate-address.ts'
import type { Source } from '../../settings/settings.ts'
import type { JsonObject } from './json.ts'

/** `fill`: a call without `context.ip` gets the client's address. */
export type AddressRule = { fill: boolean; as: NonNullable<Source['ip']> }

/** @returns undefined when `context.ip` stays as it was sent. */
export function addressRule(
  { kind, ip: as = 'full' }: Pick<Source, 'kind' | 'ip'>,
  isPixel: boolean,
): AddressRule | undefined {
  const fill = isPixel || kind === 'web' || kind === 'mobile'
  return fill || as !== 'full' ? { fill, as } : undefined
}

/**
 * Always fills in the address of a client that sends directly (`context.direct`).
 * @param ip of the client; undefined if it left before its connection was accepted. May be IPv4 mapped into IPv6. May
 * be no address at all: some proxies send `X-Forwarded-For: unknown`.
 */
export function withAddress(
  context: JsonObject | null,
  ip: string | undefined,
  rule: AddressRule | undefined,
): JsonObject | null {
  const direct = context?.direct === true
  if (!direct && rule === undefined) return context
  const sent = direct ? undefined : context?.ip
  const isAbsent = sent === undefined || sent === null || sent === ''
  const fills = direct || (rule?.fill && isAbsent)
  const address = fills ? addressOf(ip) : sent
  switch (rule?.as ?? 'full') {
    case 'full':
      return fills ? { ...context, ip: address } : context
    case 'truncated':
      return isAbsent && !fills ? context : { ...context, ip: truncated(address) }
    case 'none': {
      if (context?.ip === undefined) return context
      const { ip: _, ...rest } = context
      return rest
    }
  }
}

const addressOf = (ip = ''): string | null => (isIP(ip) === 0 ? null : ip.replace(/^::ffff:/i, ''))

/**
 * Longer than any address with a zone. Checking 32 KB takes 0.5 ms, and a batch repeats it for each call that shares the
 * address.
 */
const ADDRESS_CHARS = 64

/** Null for an invalid address. */
function truncated(address: unknown): string | null {
  if (typeof address !== 'string' || address.length > ADDRESS_CHARS) return null
  return ipaddr.isValid(address) ? truncateAddress(address) : null
}
