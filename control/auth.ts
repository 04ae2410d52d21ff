import { createHash, timingSafeEqual } from 'node:crypto'

/** Who asks: `admin` may do everything, `view` may only read. */
export type Who = 'admin' | 'view'

export type Tokens = { admin: string; view?: string | undefined }

/** Tells who sends an `Authorization` header; undefined: nobody known. The time it takes says nothing of the tokens. */
export function authenticator({ admin, view }: Tokens): (header: string | undefined) => Who | undefined {
  const known = { admin: digest(admin), view: view ? digest(view) : undefined }
  return (header) => {
    const given = digest(/^Bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? '')
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
