import { createHash, timingSafeEqual } from 'node:crypto'

/** Who asks: `admin` may do everything, `view` may only read. */
export type Who = 'admin' | 'view'

/**
 * Who asks, and how that is known: by the token itself, or by the session of who signed in with it. `address`: of the client, also behind a
 * trusted proxy.
 */
export type Caller = { who: Who; by: 'bearer' | 'cookie'; address: string; session?: Session | undefined }

/** `until`: when it is over, in seconds since 1970. */
export type Session = { id: string; until: number }

export type Tokens = { admin: string; view?: string | undefined }

/** The token in an `Authorization` header; undefined: there is none, or it is of another scheme. */
export const bearer = (header: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(header ?? '')?.[1]

/** Tells whose a token is; undefined: nobody's. The time it takes says nothing of the tokens. */
export function authenticator({ admin, view }: Tokens): (token: string) => Who | undefined {
  const known = { admin: digest(admin), view: view ? digest(view) : undefined }
  return (token) => {
    const given = digest(token)
    const isAdmin = timingSafeEqual(given, known.admin)
    const isView = known.view !== undefined && timingSafeEqual(given, known.view)
    if (isAdmin && admin) return 'admin'
    return isView ? 'view' : undefined
  }
}

/** Hashed, tokens of any length can be compared in constant time. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
