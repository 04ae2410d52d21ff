import { z } from 'zod'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { idShape } from '../../../settings/settings.ts'
import { DELIVERY_STATES } from '../events/delivery-status.ts'
import { idField, nameField, rangeFields, statusShape, userField } from '../records/query-fields.ts'
import { type Subject, subjectOf } from '../records/subject.ts'

/** As the router, a replay or a backfill made it. Times in ms since 1970. */
export type Listed = Pick<
  Delivery,
  'deliveryId' | 'messageId' | 'sourceId' | 'destinationId' | 'type' | 'routedAt' | 'replay'
> & { id: string } & Subject

/** Where the record lies. `routed`: in `deliveries`; otherwise in `deliveries.due`. */
export type Entry = PartitionOffset & { routed: boolean }

export const entryId = ({ routed, partition, offset }: Entry) => `${routed ? 'd' : 'r'}${partition}-${offset}`

export function entryOf(id: string): Entry | undefined {
  if (!/^[dr]\d{1,9}-\d{1,15}$/.test(id)) return undefined
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

/** `deliveries.due` also holds retries and deferrals, which are not listed. */
export const isFirstRecord = ({ attempt, deferrals, replay }: Delivery, routed: boolean): boolean =>
  routed || (replay && attempt === 0 && deferrals === 0)

export function listedOf(delivery: Delivery, key: string, entry: Entry): Listed {
  const { deliveryId, messageId, sourceId, destinationId, type, routedAt, replay } = delivery
  const ids = { id: entryId(entry), deliveryId, messageId, sourceId, destinationId }
  return { ...ids, type, routedAt, replay, ...subjectOf(delivery, key) }
}
