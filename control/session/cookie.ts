import { parseCookie, stringifySetCookie } from 'cookie'
import { SESSION_S } from './signed.ts'

/** By https browsers take it from this very host alone, and no other host of the domain can set it (RFC 6265bis, 4.1.3.2). */
const nameFor = (protocol: string) => (protocol === 'https' ? '__Host-sluice_session' : 'sluice_session')

/** The session that a `Cookie` header brings. */
export const sessionIn = (header: string | undefined, protocol: string): string | undefined =>
  header === undefined ? undefined : parseCookie(header)[nameFor(protocol)]

/** A `Set-Cookie` that no script can read, and no other site can send. `''` takes it away. */
export const sessionCookie = (session: string, { protocol }: { protocol: string }): string =>
  stringifySetCookie({
    name: nameFor(protocol),
    value: session,
    maxAge: session === '' ? 0 : SESSION_S,
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: protocol === 'https',
  })
