import { z } from 'zod'
import type { Delivery, PastAttempt } from '../../schemas/delivery.ts'
import { isoTime, timeShape } from '../iso-time.ts'
import type { DeadLetter } from './query.ts'

const pastShape = z.strictObject({
  attempt: z.number(),
  urlIndex: z.number(),
  startedAt: timeShape,
  durationMs: z.number(),
  outcome: z.string(),
  status: z.number().nullable(),
  code: z.string().nullable(),
})

export const deadLetterShape = z
  .strictObject({
    deliveryId: z.string(),
    messageId: z.string(),
    destinationId: z.string(),
    reason: z.string(),
    deadAt: timeShape,
    attempts: z.array(pastShape),
    body: z
      .string()
      .nullable()
      .describe('What every attempt posted; null: the topic does not have it any more.'),
  })
  .meta({ id: 'DeadLetter' })

type Shown = z.infer<typeof deadLetterShape>

/**
 * A dead letter as it is answered: users' data, and nothing of the destination's settings, as its URLs may hold secrets.
 * @param delivery undefined: the topic does not have it any more.
 */
export function shownDead(letter: DeadLetter, delivery: Delivery | undefined): Shown {
  const { time, deliveryId, messageId, destinationId, reason } = letter
  const attempts = delivery?.history.map(shownPast) ?? []
  const body = delivery?.body ?? null
  return { deliveryId, messageId, destinationId, reason, deadAt: isoTime(time), attempts, body }
}

const shownPast = (past: PastAttempt) => ({ ...past, startedAt: isoTime(past.startedAt) })
