import type { ParsedUrlQuery } from 'node:querystring'
import { PLUS, parseFields, replaced, SPACE } from '../../http/query.ts'
import { FIELD_NAME_CHARS, PATH_CHARS } from '../limits.ts'
import { methodOf, routeAt } from './routes.ts'

/**
 * For paths that the router cannot decode, Fastify runs no hooks, and so no limits: their percent signs become plain
 * text. A path longer than any route becomes `/` before it is decoded. Where no route serves the path and method, the
 * query is dropped: Fastify's 404 router would read it with a parser that has no limits.
 */
export function readableUrl({ url, method }: { url: string; method: string }): string {
  const query = url.search(/[?#]/)
  const end = query === -1 ? url.length : query
  if (end > PATH_CHARS) return '/'
  const path = url.slice(0, end)
  const decoded = decodedPath(path)
  if (decoded === undefined) return path.replaceAll('%', '%25')
  const route = query === -1 ? undefined : routeAt(decoded)
  return route && methodOf(route) === method ? url : path
}

function decodedPath(path: string): string | undefined {
  if (!path.includes('%')) return path
  try {
    return decodeURI(path)
  } catch {
    return undefined
  }
}

const LONG_NAME = new RegExp(`(^|&)[^&=]{${FIELD_NAME_CHARS + 1},}(?:=[^&]*)?`, 'g')

/** V8 slows down on very long names (process/parse-json.ts). */
export const withoutLongNames = (text: string): string =>
  text.length > FIELD_NAME_CHARS ? text.replace(LONG_NAME, '$1') : text

/** Only the fields that ingest reads: the others would stay in memory until the answer. */
export function parseQuery(text: string): ParsedUrlQuery {
  const { writeKey, data } = parseFields(withoutLongNames(text))
  return { writeKey, data }
}

/**
 * Base64 or base64url, with or without padding. A plus sign in a query arrives as a space. Characters beyond Latin-1 are
 * lost, but they are no base64 anyway.
 */
export function decodeData(data: unknown): Buffer {
  return typeof data === 'string' ? Buffer.from(replaced(data, SPACE, PLUS), 'base64') : Buffer.alloc(0)
}
