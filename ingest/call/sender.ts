import type { Source } from '../../schemas/settings.ts'
import type { Code } from '../codes.ts'
import { BATCH_CALLS } from '../limits.ts'
import type { CallType } from './accept.ts'
import { isObject, type Parsed, parseBody } from './json.ts'
import { writeKeyOf } from './write-key.ts'

/** The calls' type, or `batch`, as the route says. */
export type RouteType = CallType | 'batch'

/** A request as it came. */
export type Received = {
  type: RouteType
  authorization: string | undefined
  query: unknown
  body: Buffer
}

export type Sender = Pick<Source, 'id' | 'enabled' | 'rateLimit'>
/** `unreadable`: none that can be read has it, but one that cannot be may have it. */
export type SourceByWriteKey = (writeKey: string) => Sender | 'unreadable' | undefined

/** A request from a source that may send; what it holds is not judged yet. */
export type Sent = { type: RouteType; source: Sender; parsed: Parsed }

/** `sourceId` is undefined when the write key belongs to none. */
export type Unsent = { refused: Code; sourceId: string | undefined }

/** From whom a request is. Never throws. */
export function readSender(received: Received, sourceByWriteKey: SourceByWriteKey): Sent | Unsent {
  const parsed = parseBody(received.body)
  const body = parsed.ok ? parsed.value : undefined
  const writeKey = writeKeyOf({ ...received, body })
  // the key may be in what cannot be read
  if (!parsed.ok && writeKey === undefined) return { refused: parsed.code, sourceId: undefined }
  const source = writeKey === undefined ? undefined : sourceByWriteKey(writeKey)
  if (!source) return { refused: 'unknown_source', sourceId: undefined }
  if (source === 'unreadable') return { refused: 'source_unreadable', sourceId: undefined }
  if (!source.enabled) return { refused: 'source_disabled', sourceId: source.id }
  return { type: received.type, source, parsed }
}

/** How many calls a request counts for; one that is refused whatever it holds does not count for more than the largest. */
export function callsIn({ type, parsed }: Sent): number {
  if (type !== 'batch' || !parsed.ok || !isObject(parsed.value)) return 1
  const { batch } = parsed.value
  return Array.isArray(batch) ? Math.min(Math.max(batch.length, 1), BATCH_CALLS) : 1
}
