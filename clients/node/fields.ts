import { isBoxedPrimitive, isDate, isMap, isPromise, isSet } from 'node:util/types'
import { type Code, fault } from './errors.ts'
import { MESSAGE_ID_CHARS } from './limits.ts'
import { isIsoTime } from './timestamp.ts'

/** Before checks. */
export type Given = { readonly [key: string]: unknown }

export function isObject(value: unknown): value is Given {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The service treats these as absent too. */
const isAbsent = (value: unknown): value is null | undefined | '' =>
  value === undefined || value === null || value === ''

export function idOf(call: Given, field: 'userId' | 'anonymousId' | 'previousId' | 'groupId') {
  const value = call[field]
  if (isAbsent(value)) return undefined
  if (typeof value === 'string') return value
  if (Number.isSafeInteger(value)) return String(value)
  throw fault(
    'id_not_string',
    `${field} must be a string, or a whole number up to 2^53 - 1, not ${kindOf(value)}.`,
  )
}

export function textOf(call: Given, field: 'event' | 'category' | 'name', code: Code): string | undefined {
  const value = call[field]
  if (isAbsent(value)) return undefined
  if (typeof value === 'string') return value
  throw fault(code, `${field} must be a string, not ${kindOf(value)}.`)
}

export function messageIdOf({ messageId }: Given): string | undefined {
  if (isAbsent(messageId)) return undefined
  if (typeof messageId !== 'string')
    throw fault('message_id_not_string', `messageId must be a string, not ${kindOf(messageId)}.`)
  if (messageId.length > MESSAGE_ID_CHARS)
    throw fault(
      'message_id_too_long',
      `messageId may have at most ${MESSAGE_ID_CHARS} characters; it has ${messageId.length}.`,
    )
  return messageId
}

export function timestampOf({ timestamp }: Given): string | undefined {
  if (isAbsent(timestamp)) return undefined
  const text = isDate(timestamp) ? isoOf(timestamp) : timestamp
  if (typeof text === 'string' && isIsoTime(text)) return text
  throw fault('invalid_timestamp', 'timestamp must be ISO 8601, such as 2026-01-02T03:04:05.678Z, or a Date.')
}

/** An invalid Date would throw; years after 9999 get a sign, which isIsoTime rejects. */
const isoOf = (date: Date) => (Number.isNaN(date.getTime()) ? '' : date.toISOString())

type Part = 'properties' | 'traits' | 'context' | 'integrations'

export const objectOf = (call: Given, part: Part) => objectIn(call[part], part)

/** `toJSON` takes precedence. */
function objectIn(given: unknown, part: Part, where: string = part): Given | undefined {
  if (given === undefined || given === null) return undefined
  const value = isObject(given) && typeof given.toJSON === 'function' ? given.toJSON() : given
  if (isObject(value) && (isPlain(value) || !nonJsonKindOf(value))) return value
  throw fault(`${part}_not_object`, `${where} must be an object, not ${kindOf(value)}.`)
}

const isPlain = (value: object) => Object.getPrototypeOf(value) === Object.prototype

/** JSON.stringify turns these into `{}` or a non-object. */
const NOT_JSON_OBJECTS = [
  [isMap, 'a Map'],
  [isSet, 'a Set'],
  [isPromise, 'a Promise'],
  [isBoxedPrimitive, 'a boxed value'],
] as const

const nonJsonKindOf = (value: unknown) => NOT_JSON_OBJECTS.find(([is]) => is(value))?.[1]

/**
 * As `All`, a string such as 'false' would turn every destination on. Without integrations, the service uses those in
 * the context.
 */
export function checkIntegrations(call: {
  integrations: Given | undefined
  context: Given | undefined
}): void {
  const where = call.integrations ? 'integrations' : 'context.integrations'
  const integrations = call.integrations ?? objectIn(call.context?.integrations, 'integrations', where)
  const all = integrations?.All ?? integrations?.all ?? true
  if (typeof all !== 'boolean')
    throw fault('integrations_all_not_boolean', `${where}.All must be true or false, not ${kindOf(all)}.`)
}

/** For messages: never the value, which may be personal data. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return nonJsonKindOf(value) ?? KINDS[typeof value] ?? `a ${typeof value}`
}

const KINDS: Readonly<Record<string, string>> = {
  undefined: 'undefined',
  object: 'an object',
  string: 'a string',
  bigint: 'a BigInt',
}
