import { z } from 'zod'
import { deliveryId } from '../../../delivery/routing/routing.ts'
import { isObject } from '../../../process/json-objects.ts'
import { cutLongNames } from '../../../process/parse-json.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { idShape } from '../../../settings/settings.ts'
import { idField, nameField, rangeFields, userField } from '../records/query-fields.ts'
import { beginningOf } from '../records/subject.ts'

type IdQuery = Pick<EventsQuery, 'messageId' | 'userId' | 'anonymousId' | 'sourceId' | 'deliveryId' | 'event'>

const IDS = ['messageId', 'userId', 'anonymousId'] as const

/** No writer of JSON escapes these characters. */
const PLAIN = /^[\w.:@ -]+$/

/** @returns bytes that a record with these texts contains, in JSON or not. */
export const needlesFor = (texts: readonly string[]): Buffer[] =>
  texts.filter((text) => PLAIN.test(text)).map((text) => Buffer.from(text))

/**
 * Searches the undecoded record, at a tenth of the cost: Avro holds text as it is.
 * @returns false only if the record cannot match.
 */
export function mayMatch(query: IdQuery): (value: Buffer) => boolean {
  const needles = needlesFor([...IDS, 'event' as const].flatMap((name) => query[name] ?? []))
  return (value) => needles.every((needle) => value.includes(needle))
}

export function matchesEvent(
  { deliveryId: queryDeliveryId, sourceId, event: queryEvent, ...query }: IdQuery,
  destinationsOf: (sourceId: string) => readonly string[],
): (event: Event) => boolean {
  const ids = IDS.filter((name) => query[name] !== undefined)
  return (event) =>
    (sourceId === undefined || event.sourceId === sourceId) &&
    ids.every((name) => event[name] === query[name]) &&
    (queryEvent === undefined || eventNameOf(event) === queryEvent) &&
    (queryDeliveryId === undefined ||
      destinationsOf(event.sourceId).some(
        (destination) => deliveryId(destination, event) === queryDeliveryId,
      ))
}

/** Compares the ids; in an invalid or truncated call, searches its text for these members. */
export function matchesRejected({ sourceId, event, ...query }: IdQuery): (rejected: Rejected) => boolean {
  const ids = IDS.flatMap((name) => (query[name] === undefined ? [] : [{ name, id: query[name] }]))
  return (rejected) => {
    if (sourceId !== undefined && rejected.sourceId !== sourceId) return false
    if (ids.length === 0 && event === undefined) return true
    const calls = callsIn(rejected.raw)
    if (!calls) {
      const members = event === undefined ? ids : [...ids, { name: 'event', id: event }]
      return members.every(({ name, id }) => hasMember(rejected.raw, name, id))
    }
    return calls.some(
      (call) =>
        ids.every(({ name, id }) => textOf(call[name]) === id) &&
        (event === undefined || eventNameOf(call) === event),
    )
  }
}

/**
 * Only pages and screens have the name of the event under `name`. In other calls, and in calls that are not valid JSON,
 * `name` may be a user's.
 */
function eventNameOf({ type, event, name }: Partial<Record<'type' | 'event' | 'name', unknown>>) {
  return textOf(event ?? (type === 'page' || type === 'screen' ? name : null))
}

/** Only under its whole name: a search for a message must not find a user, as it is not audited. */
const hasMember = (raw: string, name: string, text: string): boolean =>
  new RegExp(
    `(?:(?<!\\\\)"${name}"|${name}(?<=(?:^|[{,])\\s*${name}))\\s{0,9}:\\s{0,9}${RegExp.escape(JSON.stringify(text))}`,
  ).test(raw)

/** Longer than any text of an accepted call that a query can name. */
const FIELD_CHARACTERS = 4_096

export type Fields = ReturnType<typeof fieldsIn>

/** Text fields of a rejected call, cut off; all null if it is not JSON, or a batch of several calls. */
export function fieldsIn(raw: string) {
  const calls = callsIn(raw) ?? []
  function textIn(name: string): string | null {
    const text = calls.length === 1 ? textOf(calls[0]?.[name]) : null
    return text && beginningOf(text, FIELD_CHARACTERS)
  }
  return {
    messageId: textIn('messageId'),
    type: textIn('type'),
    userId: textIn('userId'),
    anonymousId: textIn('anonymousId'),
    event: textIn('event'),
    name: textIn('name'),
  }
}

/** Some clients send ids as numbers. */
const textOf = (value: unknown): string | null => {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : null
}

/** @returns the rejected call, or each call of a rejected batch; undefined if it is not valid JSON. */
function callsIn(raw: string): Record<string, unknown>[] | undefined {
  try {
    const parsed: unknown = JSON.parse(cutLongNames(raw))
    if (!isObject(parsed)) return []
    return Array.isArray(parsed.batch) ? parsed.batch.filter(isObject) : [parsed]
  } catch {
    return undefined
  }
}

export const eventsQueryShape = z.strictObject({
  ...rangeFields,
  limit: z.coerce.number().int().min(1).max(100).default(20),
  messageId: idField.optional(),
  userId: userField.optional(),
  anonymousId: userField.optional(),
  event: nameField.optional(),
  deliveryId: idField.optional().describe('Finds accepted calls only: rejected ones have no deliveries.'),
  sourceId: idShape.optional().describe('Together with a user id it makes the search faster.'),
  destinationId: idShape
    .optional()
    .describe('Report only this destination, even if it is not connected to the source.'),
})

export type EventsQuery = z.infer<typeof eventsQueryShape>
