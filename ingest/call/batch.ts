import type { Event } from '../../schemas/event.ts'
import type { Users } from '../../settings/suppression-list.ts'
import type { Code } from '../answer.ts'
import { BATCH_CALLS, CALL_BYTES, CALL_LEVELS, SHARED_BYTES, SHARED_TIMES } from '../limits.ts'
import {
  accept,
  type CallType,
  type Facts,
  isCallType,
  ownIntegrations,
  readId,
  type Shared,
  withAll,
} from './accept.ts'
import { boundOf, isObject, type JsonObject, jsonBytes } from './json.ts'
import { parseTime } from './time.ts'

/**
 * Whether a call is about a suppressed user: by its `userId`, or by the `previousId` of an alias, which would carry the user on
 * under another id. Nothing else of the call counts, not even whether it is valid: a rejected call would be kept.
 * @param type that of the route; the calls of a batch carry their own.
 */
export function isSuppressed(call: unknown, users: Users, type?: CallType): boolean {
  if (!isObject(call)) return false
  return isOneOf(users, call.userId) || ((type ?? call.type) === 'alias' && isOneOf(users, call.previousId))
}

/** `unknown` for a call that does not say which type it is. */
export type SaidType = CallType | 'unknown'

export type BatchVerdict = Taken | { ok: false; code: Code }

type Taken = {
  ok: true
  events: Event[]
  rejected: { index: number; code: Code; type: SaidType; call: unknown }[]
  suppressed: SaidType[]
}

/** A batch as JSON.parse has read it, and how many bytes it had. */
export type BatchBody = { value: unknown; bytes: number }

/** Decides on each call of a batch by itself; only a batch that is none is refused as a whole. Never throws. */
export function acceptBatch(
  { value: body, bytes }: BatchBody,
  facts: Facts,
  suppressed?: Users,
): BatchVerdict {
  if (!isObject(body) || !Array.isArray(body.batch)) return { ok: false, code: 'batch_not_array' }
  const calls: readonly unknown[] = body.batch
  if (calls.length === 0) return { ok: false, code: 'empty_batch' }
  if (calls.length > BATCH_CALLS) return { ok: false, code: 'too_many_calls' }
  if (isTooDeep(body.context) || isTooDeep(body.integrations)) return { ok: false, code: 'too_deep' }
  const shared = readShared(body)
  if (shared.bytes > CALL_BYTES || shared.bytes * calls.length > SHARED_BYTES + SHARED_TIMES * bytes)
    return { ok: false, code: 'batch_too_large' }
  return acceptCalls(calls, { ...facts, shared }, suppressed)
}

function acceptCalls(calls: readonly unknown[], facts: Facts, suppressed: Users | undefined): Taken {
  const taken: Taken = { ok: true, events: [], rejected: [], suppressed: [] }
  for (const [index, call] of calls.entries()) {
    if (suppressed && isSuppressed(call, suppressed)) {
      taken.suppressed.push(typeOf(call))
      continue
    }
    const one = accept(call, facts)
    if (one.ok) taken.events.push(one.event)
    else taken.rejected.push({ index, code: one.code, type: typeOf(call), call })
  }
  return taken
}

const typeOf = (call: unknown): SaidType => (isObject(call) && isCallType(call.type) ? call.type : 'unknown')

/** They lie one level below the call that they are merged into. */
const isTooDeep = (value: unknown) => boundOf(value, CALL_LEVELS - 1) === Number.POSITIVE_INFINITY

export function readShared({ context = null, integrations = null, sentAt }: JsonObject): Shared {
  const bytes =
    (context === null ? 0 : jsonBytes(context)) + (integrations === null ? 0 : jsonBytes(integrations))
  return {
    context,
    integrations: withAll(integrations ?? ownIntegrations(context)),
    sentAt: parseTime(sentAt),
    bytes,
  }
}

/** Ids are read as they would be stored: the number 42 is the user `42`. */
function isOneOf(users: Users, value: unknown): boolean {
  const id = readId(value)
  return typeof id === 'string' && users.has(id)
}
