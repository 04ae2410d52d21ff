import { type Ladder, next } from '../../../delivery/ladder.ts'
import { outcomeOf } from '../../../delivery/outcome.ts'
import { decidingOf } from '../../../delivery/routing/compiled-rules.ts'
import { deliveryId, UNATTEMPTED, UNMATCHED, unmatched } from '../../../delivery/routing/routing.ts'
import { PAUSED } from '../../../delivery/targets.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Destination } from '../../../settings/settings.ts'
import type { DeadLetter } from '../dead/dead-letter.ts'

/**
 * Described in docs/reference/activity.md. `unknown`: no attempt is known, but the event is older than the known
 * attempts, or than the destination's settings: the router may have decided otherwise under earlier ones.
 */
export const DELIVERY_STATES = [
  'waiting',
  'delivered',
  'rejected',
  'retrying',
  'deferred',
  'held',
  'dead',
  'cancelled',
  'unknown',
] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Not over, as far as known: Kafka may have lost the delivery's record. */
export const OPEN: ReadonlySet<DeliveryState | null> = new Set([
  'waiting',
  'retrying',
  'deferred',
  'held',
  'unknown',
])

/** `source`: not connected to the event's source. `removed`: the destination is gone. */
export const REASONS = [...UNMATCHED, 'source', 'removed', 'filtered', 'sampled_out'] as const
export type Reason = (typeof REASONS)[number]

/** Times are ms since 1970. */
export type DeliveryStatus = {
  destinationId: string
  deliveryId: string
  /** By the current settings. */
  routed: boolean
  reason: Reason | null
  /** JSON pointer into the rules, to the deciding condition. */
  condition: string | null
  /** Null: not routed and never attempted. */
  state: DeliveryState | null
  attempts: readonly Attempt[]
  nextAttemptAt: number | null
  dead: Pick<DeadLetter, 'reason' | 'code' | 'time'> | null
}

export type Known = {
  destinationId: string
  kept: Kept
  /** When its settings last changed; undefined: it was removed. */
  changedAt: number | undefined
  /** Oldest first. */
  attempts: readonly Attempt[]
  dead: DeadLetter | undefined
  /** All attempts since then are known (ms since 1970). */
  knownSince: number
}

export function deliveryStatus(event: Event, known: Known, ladder: Ladder): DeliveryStatus {
  const { destinationId, kept, changedAt = 0, attempts, dead, knownSince } = known
  const { reason, condition = null } = kept
  const { receivedAt } = event
  const current = stateOf(receivedAt, { ...known, isRouted: reason === null }, ladder)
  // earlier settings may have decided otherwise; if they routed it, its attempts may be older than the known ones
  const isUncertain =
    (receivedAt < changedAt || reason === 'removed') &&
    (current.state === 'waiting' ||
      (current.state === null && receivedAt < knownSince && reason !== 'integrations'))
  return {
    destinationId,
    deliveryId: deliveryId(destinationId, event),
    routed: reason === null,
    reason,
    condition,
    attempts,
    dead: dead ?? null,
    ...current,
    state: isUncertain ? 'unknown' : current.state,
  }
}

/** `reason`: null if the destination gets the event. */
export type Kept = { reason: Reason | null; condition?: string }

/** Rules may take 0.1 s. */
export function keptFrom(event: Event, destination: Destination | undefined): Kept {
  if (!destination) return { reason: 'removed' }
  if (!destination.sourceIds.includes(event.sourceId)) return { reason: 'source' }
  const mismatch = unmatched(event, destination)
  return mismatch ? { reason: mismatch } : keptByRules(event, destination)
}

/** An event whose rules fail becomes a dead letter, so it counts as routed. */
function keptByRules(event: Event, destination: Destination): Kept {
  const result = decidingOf(destination)?.run(event)
  if (result?.outcome === 'filtered') return { reason: 'filtered', condition: result.condition }
  return { reason: result?.outcome === 'sampled_out' ? 'sampled_out' : null }
}

export function isMissing(
  { state, attempts }: DeliveryStatus,
  receivedAt: number,
  knownSince: number,
): boolean {
  // over, but the response is unknown
  const isUnexplained = (state === 'dead' || state === 'rejected') && attempts.length === 0
  return (OPEN.has(state) || isUnexplained) && (attempts.at(-1)?.startedAt ?? receivedAt) < knownSince
}

export type CurrentState = Pick<DeliveryStatus, 'state' | 'nextAttemptAt'>

/** @param begunAt when the event was received or routed. */
export function stateOf(
  begunAt: number,
  {
    isRouted,
    attempts,
    dead,
    knownSince,
  }: Pick<Known, 'attempts' | 'dead' | 'knownSince'> & { isRouted: boolean },
  ladder: Ladder,
): CurrentState {
  const is = (state: DeliveryState | null): CurrentState => ({ state, nextAttemptAt: null })
  const last = attempts.at(-1)
  if (attempts.some(({ outcome }) => outcome === 'delivered')) return is('delivered')
  // a replay may attempt it again later
  if (dead && (!last || last.startedAt <= dead.time)) return is(deadState(dead.reason))
  if (!last && !isRouted) return is(null)
  if (!last) return is(begunAt >= knownSince ? 'waiting' : 'unknown')
  if (last.outcome === 'cancelled') return is('cancelled')
  const after = afterAttempt(attempts, last, ladder)
  const longestMs = Math.max(0, ...ladder.ladder.map(({ delayMs }) => delayMs))
  // the next attempt is too old to be known
  const isOld = (after.nextAttemptAt ?? last.startedAt + longestMs) < knownSince
  return OPEN.has(after.state) && isOld ? is('unknown') : after
}

/** What the deliverer decided, as far as the log shows it: not Retry-After or the end of a deferral. */
export function afterAttempt(attempts: readonly Attempt[], last: Attempt, ladder: Ladder): CurrentState {
  if (isHold(last)) return { state: 'held', nextAttemptAt: null }
  const latest = lastAttemptPerWebhook(attempts, last)
  const attempted = latest.filter(({ outcome }) => outcome !== 'deferred')
  const isDeferred = attempted.length < latest.length && !attempted.some(({ outcome }) => outcome === 'retry')
  if (isDeferred) return { state: 'deferred', nextAttemptAt: null }
  const endedAt = Math.max(...attempted.map(({ startedAt, durationMs }) => startedAt + durationMs))
  // time on hold does not count towards the retry window. Only the last hold is known, so the window is counted from it
  const first = attempts.findLast(
    (each) => isHold(each) || (each.attempt === 1 && each.outcome !== 'deferred'),
  )
  const delivery = { ...EMPTY_DELIVERY, attempt: last.attempt - 1, firstAttemptAt: first?.startedAt ?? null }
  const results = attempted.map((each) => ({
    ...each,
    urlIndex: each.urlIndex ?? 0,
    url: '',
    outcome: outcomeOf(each),
  }))
  const decided = next(delivery, { results, now: endedAt }, ladder)
  if (decided.kind === 'done') return { state: 'delivered', nextAttemptAt: null }
  if (decided.kind === 'dead') return { state: deadState(decided.reason), nextAttemptAt: null }
  return { state: 'retrying', nextAttemptAt: decided.dueAt }
}

const deadState = (reason: string) => (reason === 'rejected' ? reason : 'dead')

/** Earlier records of a webhook may be deferrals. */
function lastAttemptPerWebhook(attempts: readonly Attempt[], last: Attempt): Attempt[] {
  const since = attempts.findLastIndex(({ attempt }) => attempt !== last.attempt)
  const posts = attempts.slice(since + 1).filter((each) => !isHold(each))
  return [...new Map(posts.map((each) => [each.urlIndex, each])).values()]
}

/** The delivery fell due while its destination was paused. */
export const isHold = ({ outcome, code }: Pick<Attempt, 'outcome' | 'code'>): boolean =>
  outcome === 'deferred' && code === PAUSED

const EMPTY_DELIVERY: Delivery = {
  ...UNATTEMPTED,
  deliveryId: '',
  messageId: '',
  sourceId: '',
  destinationId: '',
  type: '',
  body: '',
  routedAt: 0,
}
