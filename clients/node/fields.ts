import { isBoxedPrimitive, isDate, isMap, isPromise, isSet } from 'node:util/types'
import { type Code, fault } from './errors.ts'
import { MESSAGE_ID_CHARS } from './limits.ts'
import { isIsoTime } from './timestamp.ts'

/** A call, or a part of one, as it was given: nothing is known of its values. */
export type Given = { readonly [key: string]: unknown }

export function isObject(value: unknown): value is Given {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Null, undefined and the empty text are the same as nothing, as they are for the service. */
const isAbsent = (value: unknown): value is null | undefined | '' =>
  value === undefined || value === null || value === ''

/** An id of the call; undefined when there is none. */
export function idOf(call: Given, field: 'userId' | 'anonymousId' | 'previousId' | 'groupId') {
  const value = call[field]
  if (isAbsent(value)) return undefined
  if (typeof value === 'string') return value
  if (Number.isSafeInteger(value)) return String(value)
  throw fault(
    'id_not_string',
    `${field} must be a text, or a whole number up to 2^53 - 1; it is ${kindOf(value)}.`,
  )
}

/** A text of the call; undefined when there is none. */
export function textOf(call: Given, field: 'event' | 'category' | 'name', code: Code): string | undefined {
  const value = call[field]
  if (isAbsent(value)) return undefined
  if (typeof value === 'string') return value
  throw fault(code, `${field} must be a text; it is ${kindOf(value)}.`)
}

export function messageIdOf({ messageId }: Given): string | undefined {
  if (isAbsent(messageId)) return undefined
  if (typeof messageId !== 'string')
    throw fault('message_id_not_string', `messageId must be a text; it is ${kindOf(messageId)}.`)
  if (messageId.length > MESSAGE_ID_CHARS)
    throw fault(
      'message_id_too_long',
      `messageId may have ${MESSAGE_ID_CHARS} characters; it has ${messageId.length}.`,
    )
  return messageId
}

export function timestampOf({ timestamp }: Given): string | undefined {
  if (isAbsent(timestamp)) return undefined
  const text = isDate(timestamp) ? isoOf(timestamp) : timestamp
  if (typeof text === 'string' && isIsoTime(text)) return text
  throw fault('invalid_timestamp', 'timestamp must be ISO 8601, like 2026-01-02T03:04:05.678Z, or a Date.')
}

/** An invalid Date throws when it is printed; years past 9999 print with a sign and are refused with it. */
const isoOf = (date: Date) => (Number.isNaN(date.getTime()) ? '' : date.toISOString())

type Part = 'properties' | 'traits' | 'context' | 'integrations'

/** A part of the call that is an object, undefined when there is none. */
export const objectOf = (call: Given, part: Part) => objectIn(call[part], part)

/** What has a `toJSON` is what that gives. */
function objectIn(given: unknown, part: Part, where: string = part): Given | undefined {
  if (given === undefined || given === null) return undefined
  const value = isObject(given) && typeof given.toJSON === 'function' ? given.toJSON() : given
  if (isObject(value) && (isPlain(value) || !misprintOf(value))) return value
  throw fault(`${part}_not_object`, `${where} must be an object; it is ${kindOf(value)}.`)
}

const isPlain = (value: object) => Object.getPrototypeOf(value) === Object.prototype

/** Objects of which JSON would have nothing but `{}`, and those that it does not print as objects. */
const MISPRINTED = [
  [isMap, 'a Map'],
  [isSet, 'a Set'],
  [isPromise, 'a Promise'],
  [isBoxedPrimitive, 'a boxed value'],
] as const

const misprintOf = (value: unknown) => MISPRINTED.find(([is]) => is(value))?.[1]

/**
 * `All` switches every destination, so that a text such as 'false' in its place would do the opposite of what it says. The service
 * looks into the context where the call has no integrations of its own.
 */
export function checkIntegrations(call: {
  integrations: Given | undefined
  context: Given | undefined
}): void {
  const where = call.integrations ? 'integrations' : 'context.integrations'
  const integrations = call.integrations ?? objectIn(call.context?.integrations, 'integrations', where)
  const all = integrations?.All ?? integrations?.all ?? true
  if (typeof all !== 'boolean')
    throw fault('integrations_all_not_boolean', `${where}.All must be true or false; it is ${kindOf(all)}.`)
}

/** What a value is, for people; never the value, which may be personal. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return misprintOf(value) ?? KINDS[typeof value] ?? `a ${typeof value}`
}

const KINDS: Readonly<Record<string, string>> = {
  undefined: 'undefined',
  object: 'an object',
  string: 'a text',
  bigint: 'a BigInt',
}
