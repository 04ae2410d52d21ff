import { z } from 'zod'
import type { Attempt } from '../../schemas/attempt.ts'
import { OUTCOMES } from '../attempts/query.ts'
import { isoTime, timeShape } from '../http/iso-time.ts'
import type { DeadLetter } from './query.ts'

export const afterwardsShape = z.strictObject({ outcome: z.enum(OUTCOMES), at: timeShape })

/**
 * What came of a dead letter that was replayed: that it was delivered, or else the last attempt.
 * @param attempts those that are held of its message. @returns null: none was made since it was given up.
 */
export function afterwards(
  { deliveryId, time }: Pick<DeadLetter, 'deliveryId' | 'time'>,
  attempts: Iterable<Pick<Attempt, 'deliveryId' | 'startedAt' | 'outcome'>>,
): z.infer<typeof afterwardsShape> | null {
  const later = [...attempts]
    .filter((attempt) => attempt.deliveryId === deliveryId && attempt.startedAt > time)
    .sort((a, b) => a.startedAt - b.startedAt)
  const last = later.find(({ outcome }) => outcome === 'delivered') ?? later.at(-1)
  return last ? { outcome: last.outcome, at: isoTime(last.startedAt) } : null
}
