import { z } from 'zod'
import type { Delivery } from '../../../schemas/delivery.ts'
import { isObject } from '../../../settings/faults.ts'
import { idShape } from '../../../settings/settings.ts'
import { nameField, userField } from '../events/matches.ts'
import { idField, rangeFields } from '../recent-records.ts'
import { statusShape } from './http-status.ts'

export const DELIVERY_STATES = [
  'waiting',
  'delivered',
  'rejected',
  'retrying',
  'deferred',
  'dead',
  'cancelled',
  'unknown',
] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** A delivery as the router, a replay or a backfill made it. Times in ms since 1970. */
export type Listed = Pick<
  Delivery,
  'deliveryId' | 'messageId' | 'sourceId' | 'destinationId' | 'type' | 'routedAt' | 'replay'
> & { id: string } & Subject

/** What a delivery is about. `user`: the userId, or else the anonymousId. Null: the event has none. */
export type Subject = { event: string | null; user: string | null }

/** Where the record of a delivery lies. `routed`: in `deliveries`; otherwise in `deliveries.due`. */
export type Entry = { routed: boolean; partition: number; offset: number }

export const entryId = ({ routed, partition, offset }: Entry) => `${routed ? 'd' : 'r'}${partition}-${offset}`

export const entryIdShape = z
  .string()
  .regex(/^[dr]\d{1,9}-\d{1,15}$/, 'use the id of a delivery in GET /api/deliveries')

/** @returns undefined if the text is not such an id. */
export function entryOf(id: string): Entry | undefined {
  if (!entryIdShape.safeParse(id).success) return undefined
  const [partition = 0, offset = 0] = id.slice(1).split('-').map(Number)
  return { routed: id.startsWith('d'), partition, offset }
}

export const deliveriesQueryShape = z.strictObject({
  ...rangeFields,
  limit: z.coerce.number().int().min(1).max(100).default(50).describe('Maximum number of items.'),
  destinationId: idShape.optional(),
  sourceId: idShape.optional(),
  state: z.enum(DELIVERY_STATES).optional().describe('The state now.'),
  status: statusShape.optional().describe('An attempt got this HTTP status (`404`) or class (`5xx`).'),
  event: nameField.optional(),
  user: userField
    .optional()
    .describe('The userId, or the anonymousId of events without one. Must match exactly.'),
  messageId: idField.optional(),
  deliveryId: idField.optional(),
})

export type DeliveriesQuery = z.infer<typeof deliveriesQueryShape>

/**
 * Whether a record is the first of a delivery: written by the router, or by a replay before the first attempt. Retries
 * and deferrals are in `deliveries.due` too, and are not listed.
 */
export const isFirstRecord = ({ attempt, deferrals, replay }: Delivery, routed: boolean): boolean =>
  routed || (replay && attempt === 0 && deferrals === 0)

export function listedOf(delivery: Delivery, key: string, entry: Entry): Listed {
  const { deliveryId, messageId, sourceId, destinationId, type, routedAt, replay } = delivery
  const ids = { id: entryId(entry), deliveryId, messageId, sourceId, destinationId }
  return { ...ids, type, routedAt, replay, ...subjectOf(delivery, key) }
}

/** @param key of the record: destinationId/user. */
export function subjectOf({ type, body }: Pick<Delivery, 'type' | 'body'>, key: string): Subject {
  return { event: nameIn(type, body), user: key.slice(key.indexOf('/') + 1) || null }
}

const TEXT = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`
/** Matches the beginning of a body that `render` wrote, in which the name comes after the user. */
const NAMED = new RegExp(
  String.raw`^\{"version":1,"type":"(?:track|screen)"(?:,"(?:userId|anonymousId)":${TEXT})?,"(?:event|name)":(${TEXT})`,
)

/** @returns the name of a track event, a page or a screen. */
function nameIn(type: string, body: string): string | null {
  if (type !== 'track' && type !== 'screen' && type !== 'page') return null
  try {
    const [, quoted] = NAMED.exec(body) ?? []
    if (quoted !== undefined) return JSON.parse(quoted) as string
    const parsed: unknown = JSON.parse(body)
    if (!isObject(parsed)) return null
    const inPage = type === 'page' && isObject(parsed.properties) ? parsed.properties.name : undefined
    const name = parsed.event ?? parsed.name ?? inPage
    return typeof name === 'string' ? name : null
  } catch {
    // another writer's record
    return null
  }
}
