import { isObject } from './json.ts'

/** The three places in a request that may hold a write key. */
export type Places = { authorization: string | undefined; body: unknown; query: unknown }

/**
 * The write key of a request: user name of basic auth, else `writeKey` in the body, else in the query. An empty one counts
 * as absent, and `Bearer` is no write key: OAuth clients send a token beside the real one.
 */
export function writeKeyOf({ authorization, body, query }: Places): string | undefined {
  return basicUser(authorization) ?? fieldOf(body) ?? fieldOf(query)
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

function fieldOf(place: unknown): string | undefined {
  if (!isObject(place) || typeof place.writeKey !== 'string') return undefined
  return place.writeKey || undefined
}
