import { isObject, objectOf, withMember } from '../../process/json-objects.ts'
import type { Event } from '../../schemas/event.ts'
import { CALL_TYPES, type CallType } from '../../settings/settings.ts'
import type { Code } from '../answer.ts'
import { CALL_BYTES, CALL_LEVELS } from '../limits.ts'
import { type AddressRule, withAddress } from './address.ts'
import { boundOf, type JsonObject, jsonBytes, nestsLongName } from './json.ts'
import { type Merged, memberOf, merge, printMerged } from './merged.ts'
import { eventTimes, parseTime } from './time.ts'

export type Shared = OfBatch & {
  sentAt: number | null
  bytes: number
}

const NOTHING_SHARED: Shared = { context: null, integrations: null, sentAt: null, bytes: 0 }

export type Facts = {
  sourceId: string
  /** Milliseconds since 1970. */
  receivedAt: number
  ip: string | undefined
  addressRule?: AddressRule | undefined
  newId: () => string
  shared?: Shared
}

export type Accepted = { ok: true; event: Event } | { ok: false; code: Code }

/** Never throws. @param type of the route; undefined in a batch. */
export function accept(call: unknown, facts: Facts, type?: CallType): Accepted {
  if (!isObject(call)) return { ok: false, code: 'call_not_object' }
  const oversize = measure(call, type ? Number.POSITIVE_INFINITY : CALL_BYTES)
  if (oversize) return { ok: false, code: oversize }
  const actual = type ?? call.type
  return isCallType(actual) ? acceptOf(actual, call, facts) : { ok: false, code: 'unknown_type' }
}

/**
 * Prints a call of a batch only if it may be too large. A single call was measured as a body: printing makes it at most
 * 4.4 times as large, 288 KB with integrations stored twice.
 */
function measure(call: JsonObject, most: number): Code | undefined {
  const bound = boundOf(call, CALL_LEVELS)
  if (bound === Number.POSITIVE_INFINITY) return whyUnbounded(call, CALL_LEVELS)
  return bound > most && jsonBytes(call) > most ? 'call_too_large' : undefined
}

/** Why `boundOf` is infinite. */
export const whyUnbounded = (value: unknown, levels: number): Code =>
  nestsLongName(value, levels) ? 'name_too_long' : 'too_deep'

const types: ReadonlySet<unknown> = new Set(CALL_TYPES)

export const isCallType = (value: unknown): value is CallType => types.has(value)

function acceptOf(type: CallType, call: JsonObject, facts: Facts): Accepted {
  const ids = readIds(call)
  if (!ids) return { ok: false, code: 'id_not_string' }
  const missing = needs[type](ids, call)
  if (missing) return { ok: false, code: missing }
  const columns = readColumns(call, facts.shared ?? NOTHING_SHARED)
  if (typeof columns === 'string') return { ok: false, code: columns }
  return { ok: true, event: toEvent({ call, type, ids, columns, facts }) }
}

type Need = (ids: Ids, call: JsonObject) => Code | undefined

const needsUser: Need = ({ userId, anonymousId }) =>
  userId === null && anonymousId === null ? 'no_user_or_anonymous_id' : undefined

const needs: Readonly<Record<CallType, Need>> = {
  identify: needsUser,
  page: needsUser,
  screen: needsUser,
  track: (ids, call) => needsUser(ids, call) ?? eventName(call.event),
  group: (ids, call) => needsUser(ids, call) ?? (ids.groupId === null ? 'group_id_required' : undefined),
  alias: ({ userId, previousId }) =>
    userId === null ? 'user_id_required' : previousId === null ? 'previous_id_required' : undefined,
}

function eventName(event: unknown): Code | undefined {
  if (event === undefined || event === null || event === '') return 'event_not_defined'
  return typeof event === 'string' ? undefined : 'event_not_string'
}

type Valid = { call: JsonObject; type: CallType; ids: Ids; columns: Columns; facts: Facts }

function toEvent({ call, type, ids, columns, facts }: Valid): Event {
  const { properties, traits } = type === 'page' ? ofPage(columns) : columns
  return {
    messageId: readMessageId(call.messageId) ?? facts.newId(),
    sourceId: facts.sourceId,
    type,
    ...ids,
    event: textOf(call.event),
    name: textOf(call.name),
    category: textOf(call.category),
    properties: print(properties),
    traits: print(traits),
    context: printMerged(addressed(columns.context, facts)),
    integrations: printMerged(columns.integrations),
    ...eventTimes({
      receivedAt: facts.receivedAt,
      sentAt: parseTime(call.sentAt) ?? facts.shared?.sentAt ?? null,
      originalTimestamp: parseTime(call.timestamp ?? call.originalTimestamp),
    }),
  }
}

/** Copies only the members that the address depends on. */
function addressed(context: Merged, { ip, addressRule }: Facts): Merged {
  const { shared, own } = context
  const seen = shared || own ? { direct: memberOf(context, 'direct'), ip: memberOf(context, 'ip') } : null
  const result = withAddress(seen, ip, addressRule)
  return result === seen ? context : { shared, own: withMember(own ?? {}, 'ip', result?.ip) }
}

/** The Go library sends a page's properties as `traits`. */
function ofPage({ properties, traits }: Columns): Pick<Columns, 'properties' | 'traits'> {
  return properties === null ? { properties: traits, traits: null } : { properties, traits }
}

/** Well-formed: avsc would write half a surrogate pair as invalid UTF-8, which other readers of `events` may refuse. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value)
}

const print = (value: JsonObject | null): string | null => (value === null ? null : JSON.stringify(value))

export type Columns = {
  properties: JsonObject | null
  traits: JsonObject | null
  context: Merged
  integrations: Merged
}

export type OfBatch = { context: unknown; integrations: unknown }

/**
 * Top-level integrations win over those in the context, and the call's over the batch's.
 * @returns a code if one of the four has the wrong type.
 */
function readColumns(call: JsonObject, shared: OfBatch): Columns | Code {
  const { properties = null, traits = null } = call
  if (properties !== null && !isObject(properties)) return 'properties_not_object'
  if (traits !== null && !isObject(traits)) return 'traits_not_object'
  const context = merge(shared.context, call.context ?? null)
  if (!context) return 'context_not_object'
  const own = withAll(call.integrations ?? contextIntegrations(call.context))
  const integrations = merge(shared.integrations, own)
  if (!integrations) return 'integrations_not_object'
  if (!allIsBoolean(integrations)) return 'integrations_all_not_boolean'
  return { properties, traits, context, integrations }
}

export const contextIntegrations = (context: unknown): unknown =>
  isObject(context) ? (context.integrations ?? null) : null

function allIsBoolean(integrations: Merged): boolean {
  const value = memberOf(integrations, 'All') ?? memberOf(integrations, 'all') ?? true
  return typeof value === 'boolean'
}

/** One version of the Go library writes `all`. Renamed before merging: both are one key. */
export function withAll(integrations: unknown): unknown {
  if (!isObject(integrations) || typeof integrations.all !== 'boolean') return integrations
  const { all, All } = integrations
  if (All !== undefined && All !== null) return integrations
  const others = Object.entries(integrations).filter(([name]) => name !== 'all' && name !== 'All')
  return objectOf([['All', all], ...others])
}

export type Ids = {
  userId: string | null
  anonymousId: string | null
  groupId: string | null
  previousId: string | null
}

export function readIds(call: JsonObject): Ids | undefined {
  const userId = readId(call.userId)
  const anonymousId = readId(call.anonymousId)
  const groupId = readId(call.groupId)
  const previousId = readId(call.previousId)
  if (userId === undefined || anonymousId === undefined || groupId === undefined || previousId === undefined)
    return undefined
  return { userId, anonymousId, groupId, previousId }
}

/**
 * @returns null if missing, undefined if invalid. Numbers above 2^53 - 1 have lost digits: two users could get the same
 * id.
 */
export function readId(value: unknown): string | null | undefined {
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'number' || Math.abs(value) > Number.MAX_SAFE_INTEGER) return undefined
  const text = String(value)
  return text.includes('e') ? undefined : text
}

const MESSAGE_ID_CHARS = 100

export function readMessageId(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length === 0 || value.length > MESSAGE_ID_CHARS) return undefined
  return value.toWellFormed()
}
