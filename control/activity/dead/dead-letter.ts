import { z } from 'zod'
import { DEAD_REASONS } from '../../../delivery/ladder.ts'
import { idShape } from '../../../settings/settings.ts'
import { idField, isWithin, type Place, rangeFields } from '../recent-records.ts'

/** `time`: when the delivery was given up. */
export type DeadLetter = Place & {
  deliveryId: string
  messageId: string
  destinationId: string
  reason: string
}

/** The reasons in schemas/delivery.avsc. */
export const deadReasonShape = z.enum(DEAD_REASONS)

export const deadQueryShape = z.strictObject({
  ...rangeFields,
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(50)
    .describe('Maximum number of items. Each holds its body, which can exceed 64 KB.'),
  destinationId: idShape.optional(),
  reason: deadReasonShape.optional().describe('Why the delivery was given up.'),
  deliveryId: idField.optional(),
  messageId: idField.optional(),
})

export type DeadQuery = z.infer<typeof deadQueryShape>

const FIELDS = ['destinationId', 'reason', 'deliveryId', 'messageId'] as const

export function matchesQuery(query: DeadQuery): (letter: DeadLetter) => boolean {
  const fields = FIELDS.filter((field) => query[field] !== undefined)
  return (letter) => isWithin(letter, query) && fields.every((field) => letter[field] === query[field])
}
