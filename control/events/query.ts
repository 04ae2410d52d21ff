import { z } from 'zod'
import { idShape } from '../../schemas/settings.ts'
import { idField, rangeFields } from '../newest/query.ts'

/** A URL has room for no longer one. */
const userField = z.string().min(1, 'must not be empty').max(4_096, 'at most 4,096 characters')

export const eventsShape = z.strictObject({
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
export type EventsAsked = z.infer<typeof eventsShape>
