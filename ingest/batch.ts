import type { Event } from '../schemas/event.ts'
import { accept, type Facts } from './accept.ts'
import type { Code } from './codes.ts'
import { boundOf, isObject } from './json.ts'
import { BATCH_CALLS, CALL_BYTES, CALL_LEVELS, SHARED_BYTES } from './limits.ts'
import { readShared } from './shared.ts'

export type BatchVerdict =
  | { ok: true; events: Event[]; rejected: { index: number; code: Code; call: unknown }[] }
  | { ok: false; code: Code }

/** Decides on each call of a batch by itself; only a batch that is none is refused as a whole. Never throws. */
export function acceptBatch(body: unknown, facts: Facts): BatchVerdict {
  if (!isObject(body) || !Array.isArray(body.batch)) return { ok: false, code: 'batch_not_array' }
  const calls: readonly unknown[] = body.batch
  if (calls.length === 0) return { ok: false, code: 'empty_batch' }
  if (calls.length > BATCH_CALLS) return { ok: false, code: 'too_many_calls' }
  if (isTooDeep(body.context) || isTooDeep(body.integrations)) return { ok: false, code: 'too_deep' }
  const shared = readShared(body)
  if (shared.bytes > CALL_BYTES || shared.bytes * calls.length > SHARED_BYTES)
    return { ok: false, code: 'batch_too_large' }
  const factsOfCalls = { ...facts, shared }
  const verdict: BatchVerdict = { ok: true, events: [], rejected: [] }
  for (const [index, call] of calls.entries()) {
    const one = accept(call, factsOfCalls)
    if (one.ok) verdict.events.push(one.event)
    else verdict.rejected.push({ index, code: one.code, call })
  }
  return verdict
}

/** They lie one level below the call that they are merged into. */
const isTooDeep = (value: unknown) => boundOf(value, CALL_LEVELS - 1) === Number.POSITIVE_INFINITY
