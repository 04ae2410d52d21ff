import { type AttemptRouteParts, createRecentAttempts } from '../../control/activity/attempts.ts'
import type { Attempt } from '../../schemas/attempt.ts'

export const anAttempt = (fields: Partial<Attempt> = {}): Attempt => ({
  deliveryId: 'd1',
  messageId: 'm1',
  sourceId: 'shop',
  destinationId: 'crm',
  urlIndex: 0,
  attempt: 1,
  startedAt: Date.parse('2026-01-02T03:04:05.678Z'),
  durationMs: 12,
  outcome: 'delivered',
  status: 200,
  code: null,
  response: 'ok',
  urlHash: null,
  acceptedAt: null,
  settles: null,
  ...fields,
})

/** As if read from one partition in this order. */
export function attemptsHeld(
  attempts: readonly Attempt[] = [],
  more: Partial<AttemptRouteParts['attempts']> = {},
): AttemptRouteParts {
  const { recent, ofMessage } = createRecentAttempts({ maxCount: 1_000, maxBytes: Number.POSITIVE_INFINITY })
  for (const [offset, attempt] of attempts.entries())
    recent.add({ time: attempt.startedAt, partition: 0, offset, attempt, bytes: 0 })
  const held = { recent, ofMessage, loaded: Promise.resolve(), isLoaded: () => true, isFresh: () => true }
  return { attempts: { ...held, ...more } }
}
