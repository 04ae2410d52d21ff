import { isObject } from '../../process/json-objects.ts'
import type { Event } from '../../schemas/event.ts'
import type { CallType } from '../../settings/settings.ts'
import type { Users } from '../../settings/suppression-list.ts'
import { type Code, refusal } from '../answer.ts'
import {
  BATCH_CALLS,
  CALL_BYTES,
  CALL_LEVELS,
  MADE_BYTES,
  MADE_EACH,
  MADE_GZIP_TIMES,
  MADE_TIMES,
  REJECTED_EACH,
} from '../limits.ts'
import {
  accept,
  contextIntegrations,
  type Facts,
  isCallType,
  readId,
  type Shared,
  whyUnbounded,
  withAll,
} from './accept.ts'
import { boundOf, isDeep, type JsonObject, jsonBytes } from './json.ts'
import { parseTime } from './time.ts'

/**
 * Finds users by `userId`, or by the `previousId` of an alias, which would continue that user. Checks invalid calls
 * too, as they are stored.
 */
export function isSuppressed(call: unknown, users: Users, type?: CallType): boolean {
  if (!isObject(call)) return false
  return isOneOf(users, call.userId) || ((type ?? call.type) === 'alias' && isOneOf(users, call.previousId))
}

export type StatedType = CallType | 'unknown'

export type BatchAccepted = Calls | { ok: false; code: Code }

type Calls = {
  ok: true
  events: Event[]
  /** `text`: the call as JSON. */
  rejected: { index: number; code: Code; type: StatedType; text: string }[]
  suppressed: StatedType[]
}

/** `wireBytes`: as sent, if that was gzip. */
export type BatchBody = { value: unknown; bytes: number; wireBytes?: number | undefined }

/** The size that limits grow with. Spaces, which gzip away, must not raise them. */
export const countedBytes = ({ bytes, wireBytes = bytes }: Omit<BatchBody, 'value'>): number =>
  Math.min(bytes, MADE_GZIP_TIMES * wireBytes)

/** Refuses only an invalid batch as a whole. Never throws. */
export function acceptBatch(
  { value: body, ...size }: BatchBody,
  facts: Facts,
  suppressed?: Users,
): BatchAccepted {
  if (!isObject(body) || !Array.isArray(body.batch)) return { ok: false, code: 'batch_not_array' }
  const calls: readonly unknown[] = body.batch
  if (calls.length === 0) return { ok: false, code: 'empty_batch' }
  if (calls.length > BATCH_CALLS) return { ok: false, code: 'too_many_calls' }
  for (const value of [body.context, body.integrations])
    if (boundOf(value, SHARED_LEVELS) === Number.POSITIVE_INFINITY)
      return { ok: false, code: whyUnbounded(value, SHARED_LEVELS) }
  const shared = readShared(body)
  if (shared.bytes > CALL_BYTES) return { ok: false, code: 'batch_too_large' }
  const maxBytes = MADE_BYTES + MADE_TIMES * countedBytes(size)
  return acceptCalls(calls, { facts: { ...facts, shared }, suppressed, maxBytes })
}

/** `maxBytes`: what the records of all calls may take. */
type AcceptOptions = { facts: Facts; suppressed: Users | undefined; maxBytes: number }

function acceptCalls(
  calls: readonly unknown[],
  { facts, suppressed, maxBytes }: AcceptOptions,
): BatchAccepted {
  const result: Calls = { ok: true, events: [], rejected: [], suppressed: [] }
  let left = maxBytes
  for (const [index, call] of calls.entries()) {
    if (suppressed && isSuppressed(call, suppressed)) {
      result.suppressed.push(typeOf(call))
      continue
    }
    const accepted = accept(call, facts)
    if (accepted.ok) {
      left -= printedBytes(accepted.event)
      result.events.push(accepted.event)
    } else {
      const text = printed(call)
      // the source's id is in the record and its key
      left -= Buffer.byteLength(text) + 2 * facts.sourceId.length + rejectedBytes(accepted.code)
      result.rejected.push({ index, code: accepted.code, type: typeOf(call), text })
    }
    if (left < 0) return { ok: false, code: 'batch_too_large' }
  }
  return result
}

/**
 * Includes copied fields of the batch, and numbers that grow when printed (`1e20`). The key repeats the ids of source and
 * user, and a header the message id.
 */
function printedBytes(event: Event): number {
  const { properties, traits, context, integrations, event: name, userId, anonymousId } = event
  const { messageId, sourceId } = event
  const ids = [userId, anonymousId, event.groupId, event.previousId, userId ?? anonymousId]
  const repeated = [messageId, messageId, sourceId, sourceId]
  const others = [event.name, event.category, ...ids, ...repeated]
  return [properties, traits, context, integrations, name, ...others].reduce(
    (sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)),
    MADE_EACH,
  )
}

/** What a rejected call takes besides its text and the source's ids. Some messages are long. */
function rejectedBytes(code: Code): number {
  const { message } = refusal(code)
  return Math.max(MADE_EACH, REJECTED_EACH + code.length + message.length)
}

/** V8's time to print grows with the square of the depth: 5 KB of gzip with 57 calls of 4,300 levels took 0.2 s. */
const PRINTED_LEVELS = 200

/** Empty if it is nested too deeply to print. */
const printed = (call: unknown): string => (isDeep(call, PRINTED_LEVELS) ? '' : JSON.stringify(call))

const typeOf = (call: unknown): StatedType =>
  isObject(call) && isCallType(call.type) ? call.type : 'unknown'

/** Shared values end up one level below the call. */
const SHARED_LEVELS = CALL_LEVELS - 1

function readShared({ context = null, integrations = null, sentAt }: JsonObject): Shared {
  const bytes =
    (context === null ? 0 : jsonBytes(context)) + (integrations === null ? 0 : jsonBytes(integrations))
  return {
    context,
    integrations: withAll(integrations ?? contextIntegrations(context)),
    sentAt: parseTime(sentAt),
    bytes,
  }
}

function isOneOf(users: Users, value: unknown): boolean {
  const id = readId(value)
  return typeof id === 'string' && users.has(id)
}
