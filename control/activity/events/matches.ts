import { z } from 'zod'
import { deliveryId } from '../../../delivery/routing.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { isObject } from '../../../settings/faults.ts'
import { idShape } from '../../../settings/settings.ts'
import { idField, rangeFields } from '../recent-records.ts'

type Asked = Pick<EventsQuery, 'messageId' | 'userId' | 'anonymousId' | 'sourceId' | 'deliveryId'>

const IDS = ['messageId', 'userId', 'anonymousId'] as const

/** Nobody writes these in JSON by an escape; other characters may be written so. */
const PLAIN = /^[\w.:@-]+$/

/**
 * @returns whether a record may be one that is asked for, by the bytes of its value: in Avro a text lies as it is. To look for them
 * costs a tenth of decoding.
 */
export function mayMatch(asked: Asked): (value: Buffer) => boolean {
  const needles = IDS.flatMap((name) => asked[name] ?? [])
    .filter((id) => PLAIN.test(id))
    .map((id) => Buffer.from(id))
  return (value) => needles.every((needle) => value.includes(needle))
}

/** @param destinationsOf the ids of destinations that a delivery of this source may be for. */
export function matchesEvent(
  { deliveryId: wanted, sourceId, ...asked }: Asked,
  destinationsOf: (sourceId: string) => readonly string[],
): (event: Event) => boolean {
  const ids = IDS.filter((name) => asked[name] !== undefined)
  return (event) =>
    (sourceId === undefined || event.sourceId === sourceId) &&
    ids.every((name) => event[name] === asked[name]) &&
    (wanted === undefined ||
      destinationsOf(event.sourceId).some((destination) => deliveryId(destination, event) === wanted))
}

/** By what the call says of itself; a text that is no JSON, or cut off, by whether the ids stand in it. */
export function matchesRejected({ sourceId, ...asked }: Asked): (rejected: Rejected) => boolean {
  const ids = IDS.flatMap((name) => (asked[name] === undefined ? [] : [{ name, id: asked[name] }]))
  return (rejected) => {
    if (sourceId !== undefined && rejected.sourceId !== sourceId) return false
    if (ids.length === 0) return true
    const calls = callsIn(rejected.raw)
    if (!calls) return ids.every(({ id }) => rejected.raw.includes(JSON.stringify(id)))
    return calls.some((call) => ids.every(({ name, id }) => textOf(call[name]) === id))
  }
}

/** What a rejected call says of itself, as far as it is text; all null when it is no JSON, or many calls. */
export function fieldsIn(raw: string) {
  const calls = callsIn(raw) ?? []
  const said = (name: string) => (calls.length === 1 ? textOf(calls[0]?.[name]) : null)
  return {
    messageId: said('messageId'),
    type: said('type'),
    userId: said('userId'),
    anonymousId: said('anonymousId'),
    event: said('event'),
    name: said('name'),
  }
}

/** Clients send ids as numbers, too. */
const textOf = (value: unknown): string | null => {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : null
}

/** A call, or the calls of a batch that was refused as a whole. Undefined: it cannot be read. */
function callsIn(raw: string): Record<string, unknown>[] | undefined {
  try {
    const parsed: unknown = JSON.parse(raw)
    if (!isObject(parsed)) return []
    return Array.isArray(parsed.batch) ? parsed.batch.filter(isObject) : [parsed]
  } catch {
    return undefined
  }
}

/** A URL has room for no longer one. */
const userField = z.string().min(1, 'must not be empty').max(4_096, 'at most 4,096 characters')

export const eventsQueryShape = z.strictObject({
  ...rangeFields,
  limit: z.coerce.number().int().min(1).max(100).default(20),
  messageId: idField.optional(),
  userId: userField.optional(),
  anonymousId: userField.optional(),
  deliveryId: idField.optional().describe('Of accepted calls alone: what is rejected has no deliveries.'),
  sourceId: idShape.optional().describe('With a user it makes the search faster.'),
  destinationId: idShape
    .optional()
    .describe('Tells of this destination alone, also where it is not connected.'),
})

/** Times are ms since 1970. */
export type EventsQuery = z.infer<typeof eventsQueryShape>
