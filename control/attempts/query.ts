import { z } from 'zod'
import type { Attempt, AttemptOutcome } from '../../schemas/attempt.ts'
import { idShape } from '../../schemas/settings.ts'
import type { Place } from '../newest/place.ts'
import { idField, isWithin, rangeFields } from '../newest/query.ts'

export type HeldAttempt = Place & { attempt: Attempt; bytes: number }

export const OUTCOMES = [
  'delivered',
  'rejected',
  'retry',
  'refused',
  'cancelled',
  'deferred',
] as const satisfies readonly AttemptOutcome[]

export const attemptsShape = z.strictObject({
  ...rangeFields,
  destinationId: idShape.optional(),
  sourceId: idShape.optional(),
  outcome: z.enum(OUTCOMES).optional(),
  deliveryId: idField.optional(),
  messageId: idField.optional(),
})

const FIELDS = ['destinationId', 'sourceId', 'outcome', 'deliveryId', 'messageId'] as const

/** What is not asked for is all the same. */
export function isAskedFor(asked: z.infer<typeof attemptsShape>): (held: HeldAttempt) => boolean {
  const fields = FIELDS.filter((field) => asked[field] !== undefined)
  return (held) => isWithin(held, asked) && fields.every((field) => held.attempt[field] === asked[field])
}
