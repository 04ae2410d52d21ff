import type { Event } from '../../schemas/event.ts'
import type { Code } from '../codes.ts'
import { CALL_BYTES, CALL_LEVELS } from '../limits.ts'
import { type AddressRule, withAddress } from './address.ts'
import { type Columns, readColumns } from './columns.ts'
import { type Ids, readIds, readMessageId } from './ids.ts'
import { boundOf, isObject, type JsonObject, jsonBytes } from './json.ts'
import { NOTHING_SHARED, type Shared } from './shared.ts'
import { eventTimes, parseTime } from './time.ts'

export const CALL_TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const
export type CallType = (typeof CALL_TYPES)[number]

/** What is known of a call besides its body. */
export type Facts = {
  sourceId: string
  /** Milliseconds since 1970. */
  receivedAt: number
  /** Address that the request came from. */
  ip: string
  addressRule?: AddressRule | undefined
  /** Makes a messageId for a call that has none. */
  newId: () => string
  /** What the calls of one batch have in common. */
  shared?: Shared
}

export type Verdict = { ok: true; event: Event } | { ok: false; code: Code }

/**
 * Decides whether one call is taken, and as which event. Never throws.
 * @param type that of the route; the calls of a batch carry their own.
 */
export function accept(call: unknown, facts: Facts, type?: CallType): Verdict {
  if (!isObject(call)) return { ok: false, code: 'call_not_object' }
  const oversize = measure(call, type ? Number.POSITIVE_INFINITY : CALL_BYTES)
  if (oversize) return { ok: false, code: oversize }
  const actual = type ?? call.type
  return isCallType(actual) ? acceptOf(actual, call, facts) : { ok: false, code: 'unknown_type' }
}

/**
 * Only what may be too large is printed to be measured. A single call has been, as the body that it came in: printed, that is
 * at most 4.4 times as large (`1e20,`), and stored with its integrations twice 288 KB, far from the 1 MB of a record.
 */
function measure(call: JsonObject, most: number): Code | undefined {
  const bound = boundOf(call, CALL_LEVELS)
  if (bound === Number.POSITIVE_INFINITY) return 'too_deep'
  return bound > most && jsonBytes(call) > most ? 'call_too_large' : undefined
}

const types: ReadonlySet<unknown> = new Set(CALL_TYPES)

export const isCallType = (value: unknown): value is CallType => types.has(value)

function acceptOf(type: CallType, call: JsonObject, facts: Facts): Verdict {
  const ids = readIds(call)
  if (!ids) return { ok: false, code: 'id_not_string' }
  const missing = needs[type](ids, call)
  if (missing) return { ok: false, code: missing }
  const columns = readColumns(call, facts.shared ?? NOTHING_SHARED)
  if (typeof columns === 'string') return { ok: false, code: columns }
  return { ok: true, event: toEvent({ call, type, ids, columns, facts }) }
}

type Need = (ids: Ids, call: JsonObject) => Code | undefined

const someUser: Need = ({ userId, anonymousId }) =>
  userId === null && anonymousId === null ? 'no_user_or_anonymous_id' : undefined

/** What a call of each type must have. */
const needs: Readonly<Record<CallType, Need>> = {
  identify: someUser,
  page: someUser,
  screen: someUser,
  track: (ids, call) => someUser(ids, call) ?? eventName(call.event),
  group: (ids, call) => someUser(ids, call) ?? (ids.groupId === null ? 'group_id_required' : undefined),
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
    context: print(withAddress(columns.context, facts.ip, facts.addressRule)),
    integrations: print(columns.integrations),
    ...eventTimes({
      receivedAt: facts.receivedAt,
      sentAt: parseTime(call.sentAt) ?? facts.shared?.sentAt ?? null,
      originalTimestamp: parseTime(call.timestamp ?? call.originalTimestamp),
    }),
  }
}

/** The Go library has a page's properties in `traits`. */
function ofPage({ properties, traits }: Columns): Pick<Columns, 'properties' | 'traits'> {
  return properties === null ? { properties: traits, traits: null } : { properties, traits }
}

/** Names are strings; what else a client gives for one is kept as its JSON. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const print = (value: JsonObject | null): string | null => (value === null ? null : JSON.stringify(value))
