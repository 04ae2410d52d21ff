import { isDeeper } from '../../process/json-depth.ts'
import { isObject } from '../../process/json-objects.ts'
import type { CallType, Source } from '../../settings/settings.ts'
import type { Code } from '../answer.ts'
import { BATCH_CALLS, CALL_LEVELS } from '../limits.ts'
import { type Parsed, parseBody } from './json.ts'

export type RouteType = CallType | 'batch'

export type Received = {
  type: RouteType
  writeKey: string | undefined
  body: Buffer
  /** The bytes of `body` as sent, and the cost of receiving and inflating them, in bytes of cheap JSON. */
  wire?: { bytes: number; cost: number }
  isPixel?: boolean
}

export type Sender = Pick<Source, 'id' | 'enabled' | 'rateLimit' | 'kind' | 'ip'>
/** `unreadable`: no readable source has this key, but an unreadable one may. */
export type SourceByWriteKey = (writeKey: string) => Sender | 'unreadable' | undefined

export type Authenticated = Pick<Received, 'type' | 'isPixel' | 'wire'> & { source: Sender; parsed: Parsed }

export type Unauthenticated = { refused: Code; sourceId: string | undefined }

const BATCH_LEVELS = 2

/** Never throws. */
export function authenticate(
  { writeKey, body, ...request }: Received,
  sourceByWriteKey: SourceByWriteKey,
): Authenticated | Unauthenticated {
  if (writeKey !== undefined) {
    const source = sourceOf(writeKey, sourceByWriteKey)
    return 'refused' in source ? source : { ...request, source, parsed: parseBody(body) }
  }
  // anyone can send this, and deep nesting costs the most to parse
  if (isDeeper(body, CALL_LEVELS + BATCH_LEVELS)) return { refused: 'too_deep', sourceId: undefined }
  const parsed = parseBody(body)
  // the write key may be in the part that cannot be parsed
  if (!parsed.ok) return { refused: parsed.code, sourceId: undefined }
  const source = sourceOf(keyInside(parsed.value), sourceByWriteKey)
  return 'refused' in source ? source : { ...request, source, parsed }
}

export function sourceOf(
  writeKey: string | undefined,
  sourceByWriteKey: SourceByWriteKey,
): Sender | Unauthenticated {
  const source = writeKey === undefined ? undefined : sourceByWriteKey(writeKey)
  if (!source) return { refused: 'unknown_source', sourceId: undefined }
  if (source === 'unreadable') return { refused: 'source_unreadable', sourceId: undefined }
  if (!source.enabled) return { refused: 'source_disabled', sourceId: source.id }
  return source.kind === 'notices' ? { refused: 'notices_only', sourceId: source.id } : source
}

/** An oversized batch counts as one of the maximum size. */
export function countCalls({ type, parsed }: Authenticated): number {
  if (type !== 'batch' || !parsed.ok || !isObject(parsed.value)) return 1
  const { batch } = parsed.value
  return Array.isArray(batch) ? Math.min(Math.max(batch.length, 1), BATCH_CALLS) : 1
}

/** The user name of basic auth, or else `writeKey` in the query. Ignores `Bearer`, which OAuth clients also send. */
export function keyOutside(authorization: string | undefined, query: unknown): string | undefined {
  return basicUser(authorization) ?? keyInside(query)
}

export function keyInside(place: unknown): string | undefined {
  if (!isObject(place) || typeof place.writeKey !== 'string') return undefined
  return place.writeKey || undefined
}

const BASIC = /^basic +([^ ]+) *$/i
/** More than any key has. A multiple of 4, so that base64 can be cut there. */
const ENCODED_CHARS = 2_048

/** Some clients omit the colon before the empty password. Keeps little of a long password. */
function basicUser(header: string | undefined): string | undefined {
  const encoded = header && BASIC.exec(header)?.[1]
  if (!encoded) return undefined
  const pair = Buffer.from(encoded.slice(0, ENCODED_CHARS), 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return (colon === -1 ? pair : pair.slice(0, colon)) || undefined
}
