import type { Callback, CallType } from './calls.ts'
import { AnalyticsError, fault } from './errors.ts'
import {
  checkIntegrations,
  type Given,
  idOf,
  isObject,
  kindOf,
  messageIdOf,
  objectOf,
  textOf,
  timestampOf,
} from './fields.ts'
import { CALL_BYTES, CALL_LEVELS } from './limits.ts'

/** `bytes`: UTF-8 length of `json`. Holds no string of the caller: a slice would keep a larger one in memory. */
export type Encoded = { type: CallType; json: string; bytes: number; callback?: Callback }

export function idIn({ json }: Encoded): string {
  const { messageId } = JSON.parse(json) as { messageId: string } // written by `print`
  return messageId
}

export type Defaults = { messageId: string; timestamp: string }

/**
 * Serializes a call without keeping a reference to it.
 * @throws AnalyticsError if the service would reject the call, or the caller's code throws
 */
export function encode(type: CallType, call: unknown, defaults: Defaults): Encoded {
  if (!isObject(call))
    throw fault('call_not_object', `${type} takes an object such as { userId: 'u1' }, not ${kindOf(call)}.`)
  const json = print(type, call, defaults)
  if (isDeeper(json, CALL_LEVELS)) throw tooDeep(type)
  const bytes = Buffer.byteLength(json)
  if (bytes > CALL_BYTES)
    throw fault(
      'call_too_large',
      `A call may have at most ${CALL_BYTES} bytes as JSON; this ${type} has ${bytes}.`,
    )
  return { type, json, bytes }
}

function print(type: CallType, call: Given, defaults: Defaults): string {
  try {
    const wire = wireOf(type, call, defaults)
    requireFields[type](wire)
    checkIntegrations(wire)
    return escaped(JSON.stringify(wire))
  } catch (cause) {
    throw faultOf(type, cause)
  }
}

/** @param cause anything, even a value that throws when it is read */
function faultOf(type: CallType, cause: unknown): AnalyticsError {
  const notSerialisable = (why: string) =>
    fault('not_serialisable', `This ${type} cannot be written as JSON: ${why}`, { cause })
  try {
    if (cause instanceof AnalyticsError) return cause
    return isEndOfStack(cause) ? tooDeep(type, cause) : notSerialisable(messageOf(cause))
  } catch {
    return notSerialisable('something was thrown')
  }
}

/** JSON.stringify overflows the stack at thousands of levels. */
const isEndOfStack = (cause: unknown) => cause instanceof RangeError && cause.message.includes('call stack')

const tooDeep = (type: CallType, cause?: unknown) =>
  fault(
    'too_deep',
    `A call may have at most ${CALL_LEVELS} levels of objects and arrays; this ${type} has more.`,
    {
      ...(cause !== undefined && { cause }),
    },
  )

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : 'something was thrown')

type Wire = ReturnType<typeof wireOf>

/** In the order of sending; undefined keys are not sent. */
function wireOf(type: CallType, call: Given, defaults: Defaults) {
  refuseUnknown(type, call)
  return {
    type,
    messageId: messageIdOf(call) ?? defaults.messageId,
    timestamp: timestampOf(call) ?? defaults.timestamp,
    userId: idOf(call, 'userId'),
    anonymousId: idOf(call, 'anonymousId'),
    previousId: idOf(call, 'previousId'),
    groupId: idOf(call, 'groupId'),
    event: textOf(call, 'event', 'event_not_string'),
    category: textOf(call, 'category', 'category_not_string'),
    name: textOf(call, 'name', 'name_not_string'),
    properties: objectOf(call, 'properties'),
    traits: objectOf(call, 'traits'),
    context: objectOf(call, 'context'),
    integrations: objectOf(call, 'integrations'),
  }
}

const common = ['messageId', 'timestamp', 'userId', 'context', 'integrations']

/** A page may have its properties in `traits`, as in the Go library. */
const fields: Readonly<Record<CallType, ReadonlySet<string>>> = {
  identify: new Set([...common, 'anonymousId', 'traits']),
  track: new Set([...common, 'anonymousId', 'event', 'properties']),
  page: new Set([...common, 'anonymousId', 'category', 'name', 'properties', 'traits']),
  screen: new Set([...common, 'anonymousId', 'category', 'name', 'properties']),
  group: new Set([...common, 'anonymousId', 'groupId', 'traits']),
  alias: new Set([...common, 'previousId']),
}

/** A misspelt field must not be lost silently. */
function refuseUnknown(type: CallType, call: Given): void {
  for (const field in call)
    if (!fields[type].has(field) && call[field] !== undefined)
      throw fault('unknown_field', `${type} has no field ${field}; it takes ${[...fields[type]].join(', ')}.`)
}

const someone = ({ userId, anonymousId }: Wire) => {
  if (userId === undefined && anonymousId === undefined)
    throw fault('no_user_or_anonymous_id', 'userId or anonymousId is required.')
}

const requireFields: Readonly<Record<CallType, (wire: Wire) => void>> = {
  identify: someone,
  page: someone,
  screen: someone,
  track: (wire) => {
    someone(wire)
    if (wire.event === undefined)
      throw fault('event_not_defined', 'track requires event, the name of the action.')
  },
  group: (wire) => {
    someone(wire)
    if (wire.groupId === undefined) throw fault('group_id_required', 'group requires groupId.')
  },
  alias: ({ userId, previousId }) => {
    if (userId === undefined) throw fault('user_id_required', 'alias requires userId, the new id.')
    if (previousId === undefined)
      throw fault('previous_id_required', 'alias requires previousId, the old id.')
  },
}

const SEPARATORS = /[\u2028\u2029]/

/** Escapes as Go's JSON does: both libraries send the same bytes. */
function escaped(json: string): string {
  if (!SEPARATORS.test(json)) return json
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

const [QUOTE, BACKSLASH] = ['"'.charCodeAt(0), '\\'.charCodeAt(0)]
const OPENING = new Set(['{'.charCodeAt(0), '['.charCodeAt(0)])
const CLOSING = new Set(['}'.charCodeAt(0), ']'.charCodeAt(0)])

/** Counts levels of objects and arrays, including the outermost. */
export function isDeeper(json: string, most: number): boolean {
  if (!hasMoreOpening(json, most)) return false
  let [level, inText] = [0, false]
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (char === BACKSLASH) at++
    else if (char === QUOTE) inText = !inText
    else if (inText) continue
    else if (OPENING.has(char) && ++level > most) return true
    else if (CLOSING.has(char)) level--
  }
  return false
}

/** A quick check: each level needs a bracket. */
function hasMoreOpening(json: string, most: number): boolean {
  let count = 0
  for (const bracket of ['{', '['])
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1))
      if (++count > most) return true
  return false
}
