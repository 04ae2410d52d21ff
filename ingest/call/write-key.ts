import { isObject } from './json.ts'

/**
 * The write key that a request names outside its body: the user name of basic auth, else `writeKey` in the query. An empty one counts as
 * absent, and `Bearer` is no write key: OAuth clients send a token beside the real one.
 */
export function keyOutside(authorization: string | undefined, query: unknown): string | undefined {
  return basicUser(authorization) ?? keyInside(query)
}

/** The `writeKey` of a body, or of a query. */
export function keyInside(place: unknown): string | undefined {
  if (!isObject(place) || typeof place.writeKey !== 'string') return undefined
  return place.writeKey || undefined
}

const BASIC = /^basic +([^ ]+) *$/i

/** The colon before the empty password is missing with some clients. */
function basicUser(header: string | undefined): string | undefined {
  const encoded = header && BASIC.exec(header)?.[1]
  if (!encoded) return undefined
  const pair = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return (colon === -1 ? pair : pair.slice(0, colon)) || undefined
}
