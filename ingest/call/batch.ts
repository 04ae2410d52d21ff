import type { Event } from '../../schemas/event.ts'
import type { Users } from '../../schemas/suppressed.ts'
import type { Code } from '../codes.ts'
import { BATCH_CALLS, CALL_BYTES, CALL_LEVELS, SHARED_BYTES, SHARED_TIMES } from '../limits.ts'
import { accept, type CallType, type Facts, isCallType } from './accept.ts'
import { boundOf, isObject } from './json.ts'
import { readShared } from './shared.ts'
import { isSuppressed } from './suppression.ts'

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
