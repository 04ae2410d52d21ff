import { z } from 'zod'
import type { Attempt } from '../../schemas/attempt.ts'
import { isoTime, timeShape } from '../http/iso-time.ts'
import { OUTCOMES } from './query.ts'

export const attemptShape = z
  .strictObject({
    deliveryId: z.string().describe('As in `X-Delivery-Id`.'),
    messageId: z.string().describe('Id of the call, as in `X-Message-Id`.'),
    sourceId: z.string(),
    destinationId: z.string(),
    urlIndex: z
      .number()
      .nullable()
      .describe('Position of the webhook in the destination, from 0; null: none was chosen.'),
    attempt: z.number().describe('From 1, as in `X-Attempt`.'),
    startedAt: timeShape,
    durationMs: z.number().describe("Until the answer's headers, or the failure."),
    outcome: z.enum(OUTCOMES),
    status: z.number().nullable().describe('Of the answer, when there was one.'),
    code: z
      .string()
      .nullable()
      .describe('Why it was not delivered: `http_5xx`, `timeout`, `ECONNREFUSED` and the like.'),
    response: z.string().nullable().describe("The first 1,024 bytes of the answer's body."),
  })
  .meta({ id: 'Attempt' })

/** An attempt as it is answered; times are ISO 8601 UTC. */
export const shownAttempt = (attempt: Attempt): z.infer<typeof attemptShape> => ({
  ...attempt,
  startedAt: isoTime(attempt.startedAt),
})
