import ipaddr from 'ipaddr.js'
import type { Source } from '../../settings/settings.ts'
import type { JsonObject } from './json.ts'

/** What is done with `context.ip`. `fill`: where a call has none, it gets the address that its request came from. */
export type AddressRule = { fill: boolean; as: NonNullable<Source['ip']> }

/** @returns undefined where `context.ip` stays as it was sent. */
export function addressRule(
  { kind, ip: as = 'full' }: Pick<Source, 'kind' | 'ip'>,
  isPixel: boolean,
): AddressRule | undefined {
  const fill = isPixel || kind === 'web' || kind === 'mobile'
  return fill || as !== 'full' ? { fill, as } : undefined
}

/**
 * A client that sends straight to us (`direct`) leaves it to us to see its address, whatever its source.
 * @param ip of the client, also IPv4 that is mapped into IPv6.
 */
export function withAddress(
  context: JsonObject | null,
  ip: string,
  rule: AddressRule | undefined,
): JsonObject | null {
  const direct = context?.direct === true
  if (!direct && rule === undefined) return context
  const own = direct ? undefined : context?.ip
  const isAbsent = own === undefined || own === null || own === ''
  const fills = direct || (rule?.fill && isAbsent)
  const address = fills ? ip.replace(/^::ffff:/i, '') : own
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

/** Without the last 8 of 32 bits, or the last 80 of 128; null for what is no address. */
function truncated(address: unknown): string | null {
  if (typeof address !== 'string' || !ipaddr.isValid(address)) return null
  const parsed = ipaddr.process(address)
  const kept = parsed.kind() === 'ipv4' ? 3 : 6
  const bytes = parsed.toByteArray().map((byte, index) => (index < kept ? byte : 0))
  return ipaddr.fromByteArray(bytes).toString()
}
