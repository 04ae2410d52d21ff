import { isDeeper } from '../../http/requests.ts'
import type { Source } from '../../settings/settings.ts'
import type { Code } from '../answer.ts'
import { BATCH_CALLS, CALL_LEVELS } from '../limits.ts'
import type { CallType } from './accept.ts'
import { isObject, type Parsed, parseBody } from './json.ts'

/** The calls' type, or `batch`, as the route says. */
export type RouteType = CallType | 'batch'

/** A request as it came. `writeKey` is the one outside its body. */
export type Received = {
  type: RouteType
  writeKey: string | undefined
  body: Buffer
  /** Before it was inflated; as many as it has unless told. */
  wireBytes?: number
  /** It was the URL of an image. */
  isPixel?: boolean
}

export type Sender = Pick<Source, 'id' | 'enabled' | 'rateLimit' | 'kind' | 'ip'>
/** `unreadable`: none that can be read has it, but one that cannot be may have it. */
export type SourceByWriteKey = (writeKey: string) => Sender | 'unreadable' | undefined

/** A request from a source that may send; what it holds is not judged yet. */
export type Sent = Pick<Received, 'type' | 'isPixel'> & { source: Sender; parsed: Parsed }

/** `sourceId` is undefined when the write key belongs to none. */
export type Unsent = { refused: Code; sourceId: string | undefined }

/** The levels of a batch above its calls: its own, and that of its array. */
const BATCH_LEVELS = 2

/** From whom a request is. Never throws. */
export function readSender(
  { writeKey, body, ...sent }: Received,
  sourceByWriteKey: SourceByWriteKey,
): Sent | Unsent {
  if (writeKey !== undefined) {
    const sender = senderOf(writeKey, sourceByWriteKey)
    return 'refused' in sender ? sender : { ...sent, source: sender, parsed: parseBody(body) }
  }
  // anybody can send it, and what is nested deeply costs the most to parse
  if (isDeeper(body, CALL_LEVELS + BATCH_LEVELS)) return { refused: 'too_deep', sourceId: undefined }
  const parsed = parseBody(body)
  // the key may be in what cannot be read
  if (!parsed.ok) return { refused: parsed.code, sourceId: undefined }
  const sender = senderOf(keyInside(parsed.value), sourceByWriteKey)
  return 'refused' in sender ? sender : { ...sent, source: sender, parsed }
}

/** @returns the source of a write key, when it may send. */
export function senderOf(writeKey: string | undefined, sourceByWriteKey: SourceByWriteKey): Sender | Unsent {
  const source = writeKey === undefined ? undefined : sourceByWriteKey(writeKey)
  if (!source) return { refused: 'unknown_source', sourceId: undefined }
  if (source === 'unreadable') return { refused: 'source_unreadable', sourceId: undefined }
  return source.enabled ? source : { refused: 'source_disabled', sourceId: source.id }
}

/** How many calls a request counts for; one that is refused whatever it holds does not count for more than the largest. */
export function callsIn({ type, parsed }: Sent): number {
  if (type !== 'batch' || !parsed.ok || !isObject(parsed.value)) return 1
  const { batch } = parsed.value
  return Array.isArray(batch) ? Math.min(Math.max(batch.length, 1), BATCH_CALLS) : 1
}

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
