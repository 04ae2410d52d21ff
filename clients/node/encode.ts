import type { CallType } from './calls.ts'
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
import { isDeeper } from './levels.ts'
import { CALL_BYTES, CALL_LEVELS } from './limits.ts'

/**
 * A call as it is queued and sent: `bytes` of `json` in UTF-8. No text of the caller's is in it, as one may be a part of another,
 * and keep all of that in memory.
 */
export type Encoded = { type: CallType; json: string; bytes: number }

/** The call's messageId. */
export function idIn({ json }: Encoded): string {
  const { messageId } = JSON.parse(json) as { messageId: string } // as it was printed here
  return messageId
}

/** What a call gets when it does not bring its own. */
export type Made = { messageId: string; timestamp: string }

/**
 * Checks a call and prints it, once. Nothing of it is kept, so that the caller may change it afterwards.
 * @throws AnalyticsError for whatever the service would refuse, also where the caller's code throws while it is printed.
 */
export function encode(type: CallType, call: unknown, made: Made): Encoded {
  if (!isObject(call))
    throw fault('call_not_object', `${type} takes an object, like { userId: 'u1' }; it got ${kindOf(call)}.`)
  const json = print(type, call, made)
  if (isDeeper(json, CALL_LEVELS)) throw tooDeep(type)
  const bytes = Buffer.byteLength(json)
  if (bytes > CALL_BYTES)
    throw fault('call_too_large', `A call may have ${CALL_BYTES} bytes as JSON; this ${type} has ${bytes}.`)
  return { type, json, bytes }
}

function print(type: CallType, call: Given, made: Made): string {
  try {
    const wire = wireOf(type, call, made)
    need[type](wire)
    checkIntegrations(wire)
    return escaped(JSON.stringify(wire))
  } catch (cause) {
    if (cause instanceof AnalyticsError) throw cause
    if (isEndOfStack(cause)) throw tooDeep(type, cause)
    throw fault('not_serialisable', `This ${type} cannot be written as JSON: ${messageOf(cause)}`, { cause })
  }
}

/** Thousands of levels are printed no further than the stack goes. */
const isEndOfStack = (cause: unknown) => cause instanceof RangeError && cause.message.includes('call stack')

const tooDeep = (type: CallType, cause?: unknown) =>
  fault('too_deep', `A call may have ${CALL_LEVELS} levels of objects and arrays; this ${type} has more.`, {
    ...(cause !== undefined && { cause }),
  })

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : 'something was thrown')

type Wire = ReturnType<typeof wireOf>

/** The keys in the order in which they are sent; those that are undefined are not. */
function wireOf(type: CallType, call: Given, made: Made) {
  knowAll(type, call)
  return {
    type,
    messageId: messageIdOf(call) ?? made.messageId,
    timestamp: timestampOf(call) ?? made.timestamp,
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

/** The fields of each type; a page may have its properties in `traits` too, as with the Go library. */
const fields: Readonly<Record<CallType, ReadonlySet<string>>> = {
  identify: new Set([...common, 'anonymousId', 'traits']),
  track: new Set([...common, 'anonymousId', 'event', 'properties']),
  page: new Set([...common, 'anonymousId', 'category', 'name', 'properties', 'traits']),
  screen: new Set([...common, 'anonymousId', 'category', 'name', 'properties']),
  group: new Set([...common, 'anonymousId', 'groupId', 'traits']),
  alias: new Set([...common, 'previousId']),
}

/** A field that would not be sent is a fault, or a misspelt one would be lost without a word. */
function knowAll(type: CallType, call: Given): void {
  for (const field in call)
    if (!fields[type].has(field) && call[field] !== undefined)
      throw fault('unknown_field', `${type} has no field ${field}; it takes ${[...fields[type]].join(', ')}.`)
}

const someone = ({ userId, anonymousId }: Wire) => {
  if (userId === undefined && anonymousId === undefined)
    throw fault('no_user_or_anonymous_id', 'userId or anonymousId is needed.')
}

/** What a call of each type must have: the service's own rules. */
const need: Readonly<Record<CallType, (wire: Wire) => void>> = {
  identify: someone,
  page: someone,
  screen: someone,
  track: (wire) => {
    someone(wire)
    if (wire.event === undefined)
      throw fault('event_not_defined', 'track needs event, the name of the action.')
  },
  group: (wire) => {
    someone(wire)
    if (wire.groupId === undefined) throw fault('group_id_required', 'group needs groupId.')
  },
  alias: ({ userId, previousId }) => {
    if (userId === undefined) throw fault('user_id_required', 'alias needs userId, the new id.')
    if (previousId === undefined)
      throw fault('previous_id_required', 'alias needs previousId, the id to alias from.')
  },
}

const SEPARATORS = /[\u2028\u2029]/

/** Go's JSON has them escaped; both libraries send the same bytes. */
function escaped(json: string): string {
  if (!SEPARATORS.test(json)) return json
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}
