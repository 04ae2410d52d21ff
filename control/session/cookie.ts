import { parseCookie, stringifySetCookie } from 'cookie'
import { SESSION_S } from './signed.ts'

const NAME = 'sluice_session'

/** The session that a `Cookie` header brings. */
export const sessionIn = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : parseCookie(header)[NAME]

/** A `Set-Cookie` that no script can read, and no other site can send. `''` takes it away. */
export const sessionCookie = (session: string, { protocol }: { protocol: string }): string =>
  stringifySetCookie({
    name: NAME,
    value: session,
    maxAge: session === '' ? 0 : SESSION_S,
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: protocol === 'https',
  })
