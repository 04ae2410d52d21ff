import { z } from 'zod'
import type { Delivery, PastAttempt } from '../../schemas/delivery.ts'
import { isoTime, timeShape } from '../http/iso-time.ts'
import { type afterwards, afterwardsShape } from './afterwards.ts'
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
    afterwards: afterwardsShape
      .nullable()
      .describe('What came of it when it was replayed, as far as attempts of late tell; null: nothing yet.'),
  })
  .meta({ id: 'DeadLetter' })

type Shown = z.infer<typeof deadLetterShape>

/**
 * A dead letter as it is answered: users' data, and nothing of the destination's settings, as its URLs may hold secrets.
 * @param known.delivery undefined: the topic does not have it any more.
 */
export function shownDead(
  letter: DeadLetter,
  { delivery, ...known }: { delivery: Delivery | undefined; afterwards: ReturnType<typeof afterwards> },
): Shown {
  const { time, deliveryId, messageId, destinationId, reason } = letter
  const attempts = delivery?.history.map(shownPast) ?? []
  const body = delivery?.body ?? null
  return { deliveryId, messageId, destinationId, reason, deadAt: isoTime(time), attempts, body, ...known }
}

const shownPast = (past: PastAttempt) => ({ ...past, startedAt: isoTime(past.startedAt) })
