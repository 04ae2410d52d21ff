import { z } from 'zod'
import type { Attempt } from '../../schemas/attempt.ts'
import { isoTime, timeShape } from '../iso-time.ts'
import { OUTCOMES } from './query.ts'

export const attemptShape = z
  .strictObject({
    deliveryId: z.string(),
    messageId: z.string(),
    sourceId: z.string(),
    destinationId: z.string(),
    urlIndex: z.number().nullable().describe('Position of the webhook in the destination.'),
    attempt: z.number(),
    startedAt: timeShape,
    durationMs: z.number(),
    outcome: z.enum(OUTCOMES),
    status: z.number().nullable(),
    code: z.string().nullable(),
    response: z.string().nullable(),
  })
  .meta({ id: 'Attempt' })

/** An attempt as it is answered; times are ISO 8601 UTC. */
export const shownAttempt = (attempt: Attempt): z.infer<typeof attemptShape> => ({
  ...attempt,
  startedAt: isoTime(attempt.startedAt),
})
