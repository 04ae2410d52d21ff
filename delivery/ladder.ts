import type { Delivery } from '../schemas/delivery.ts'
import type { Rung } from '../schemas/topics.ts'
import { type Outcome, recorded } from './outcome.ts'
import { settledWith, type Target } from './targets.ts'

/** Of one POST, or of deferring it. Times in milliseconds. */
export type AttemptResult = {
  urlIndex: number
  url: string
  startedAt: number
  durationMs: number
  outcome: Outcome
  response: string | null
}

/** `missed`: webhooks that never got an attempt. */
export type Next =
  | { kind: 'done'; missed?: readonly Target[] }
  | { kind: 'retry' | 'defer'; rung: Rung; dueAt: number; delivery: Delivery }
  | { kind: 'dead'; reason: DeadReason; delivery: Delivery }

/** RETRY_LADDER and RETRY_WINDOW (config.ts). Each rung has a topic (schemas/topics.ts). */
export type Ladder = { ladder: readonly Rung[]; windowMs: number }

/**
 * Done when one webhook delivered, dead when all rejected or refused (docs/guides/receivers.md). Otherwise the next
 * rung that is at least as long as Retry-After and ends within the retry window; if there is none, the longest that
 * does. No POST is still in flight unless one of the `results` is delivered.
 */
export function next(
  delivery: Delivery,
  { results, now }: { results: readonly AttemptResult[]; now: number },
  { ladder, windowMs }: Ladder,
): Next {
  if (results.some(({ outcome }) => outcome.outcome === 'delivered')) return { kind: 'done' }
  const startedAt = results[0]?.startedAt ?? now
  const after = afterAttempt(delivery, results, delivery.firstAttemptAt ?? startedAt)
  const dead = (reason: DeadReason): Next => ({
    kind: 'dead',
    reason,
    delivery: { ...after, deadReason: reason, deadAt: now },
  })
  if (results.every(isFinal))
    return dead(after.history.some(({ outcome }) => outcome === 'rejected') ? 'rejected' : 'refused')
  const ahead = ladder.slice(after.attempt - 1)
  if (ahead.length === 0) return dead('attempts_exhausted')
  const leftMs = windowStart(after, now) + windowMs - now
  const rung = rungFor(ahead, { requestedMs: requestedMs(results), leftMs })
  if (!rung) return dead('window_expired')
  return { kind: 'retry', rung, dueAt: now + rung.delayMs, delivery: after }
}

/**
 * Begins with the first attempt, in ms since 1970, but not before the delivery was routed: a slow clock could end it at
 * once.
 */
export const windowStart = (
  { firstAttemptAt, routedAt }: Pick<Delivery, 'firstAttemptAt' | 'routedAt'>,
  now: number,
): number => Math.max(firstAttemptAt ?? now, Math.min(routedAt, now))

/** Of the rungs that end in time, the first that is as long as requested, or else the longest. */
function rungFor(ahead: readonly Rung[], by: { requestedMs: number; leftMs: number }): Rung | undefined {
  const inTime = ahead.filter(({ delayMs }) => delayMs <= by.leftMs)
  const longest = Math.max(...inTime.map(({ delayMs }) => delayMs))
  return inTime.find(({ delayMs }) => delayMs >= Math.min(by.requestedMs, longest))
}

const requestedMs = (results: readonly AttemptResult[]) =>
  Math.max(0, ...results.map(({ outcome }) => (outcome.outcome === 'retry' && outcome.retryAfterMs) || 0))

export const isRetry = ({ outcome }: AttemptResult) => outcome.outcome === 'retry'

export const isFinal = ({ outcome }: AttemptResult) =>
  outcome.outcome === 'refused' || outcome.outcome === 'rejected'

/** Settles webhooks that rejected or refused. The others get this attempt later. */
export function withoutFinal(delivery: Delivery, results: readonly AttemptResult[]): Delivery {
  const final = results.filter(isFinal)
  if (final.length === 0) return delivery
  return {
    ...delivery,
    ...settledWith(delivery, final),
    history: [...delivery.history, ...pastOf(final, delivery.attempt + 1)],
  }
}

const pastOf = (results: readonly AttemptResult[], attempt: number) =>
  results.map(({ urlIndex, startedAt, durationMs, outcome }) => ({
    attempt,
    urlIndex,
    startedAt,
    durationMs,
    ...recorded(outcome),
  }))

function afterAttempt(
  delivery: Delivery,
  results: readonly AttemptResult[],
  firstAttemptAt: number,
): Delivery {
  const attempt = delivery.attempt + 1
  return {
    ...delivery,
    ...settledWith(delivery, results.filter(isFinal)),
    firstAttemptAt,
    attempt,
    deferrals: 0,
    history: [...delivery.history, ...pastOf(results, attempt)],
  }
}

/** Header `reason` and field `deadReason` in `deliveries.dead`. Replays select by it. */
export const GIVEN_UP_REASONS = ['window_expired', 'attempts_exhausted', 'rejected', 'refused'] as const
export type DeadReason = (typeof GIVEN_UP_REASONS)[number]

/** Includes the reason that needs no attempt. */
export const DEAD_REASONS = [...GIVEN_UP_REASONS, 'rules_failed'] as const
