import { type Ladder, next } from '../../../delivery/ladder.ts'
import { deliveryId, UNTRIED, type Unmatched, unmatched } from '../../../delivery/routing.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Destination } from '../../../settings/settings.ts'
import { outcomeOf } from '../attempts.ts'
import type { DeadLetter } from '../dead/dead-letter.ts'

/**
 * `waiting`: nothing was tried yet. `retrying`: tried or put off, and to be tried again. `unknown`: it is too old for what is
 * known of attempts.
 */
export const STATES = ['waiting', 'retrying', 'delivered', 'dead', 'cancelled', 'unknown'] as const
export type State = (typeof STATES)[number]

/** `source`: it is not connected to the event's source; `removed`: there is no such destination any more. */
export type Reason = Unmatched | 'source' | 'removed'

/** What became of an event at a destination. Times are ms since 1970. */
export type DeliveryStatus = {
  destinationId: string
  deliveryId: string
  /** By the settings of now. */
  routed: boolean
  reason: Reason | null
  /** Null: it is not routed, and nothing was ever tried. */
  state: State | null
  /** Oldest first. */
  attempts: readonly Attempt[]
  nextAttemptAt: number | null
  dead: Pick<DeadLetter, 'reason' | 'time'> | null
}

export type Known = {
  destination: Destination | undefined
  /** Of the delivery, oldest first. */
  attempts: readonly Attempt[]
  dead: DeadLetter | undefined
  /** Since when all attempts are known. */
  knownSince: number
}

/** By the router's own decisions and the deliverer's. */
export function deliveryStatus(
  event: Event,
  destinationId: string,
  known: Known,
  ladder: Ladder,
): DeliveryStatus {
  const { destination, attempts, dead } = known
  const reason = reasonAgainst(event, destination)
  return {
    destinationId,
    deliveryId: deliveryId(destinationId, event),
    routed: reason === null,
    reason,
    attempts,
    dead: dead ?? null,
    ...standing(event, reason === null, known, ladder),
  }
}

function reasonAgainst(event: Event, destination: Destination | undefined): Reason | null {
  if (!destination) return 'removed'
  if (!destination.sourceIds.includes(event.sourceId)) return 'source'
  return unmatched(event, destination) ?? null
}

/** Whether there may have been attempts that are not known. */
export function isMissing(
  { state, attempts }: DeliveryStatus,
  receivedAt: number,
  knownSince: number,
): boolean {
  const isOpen = state === 'unknown' || state === 'retrying'
  // it is over, but what it answered is not known
  const isUntold = state === 'dead' && attempts.length === 0
  return (isOpen || isUntold) && (attempts.at(-1)?.startedAt ?? receivedAt) < knownSince
}

type Standing = Pick<DeliveryStatus, 'state' | 'nextAttemptAt'>

function standing(
  event: Event,
  isRouted: boolean,
  { attempts, dead, knownSince }: Known,
  ladder: Ladder,
): Standing {
  const is = (state: State | null): Standing => ({ state, nextAttemptAt: null })
  const last = attempts.at(-1)
  if (attempts.some(({ outcome }) => outcome === 'delivered')) return is('delivered')
  // what was replayed is tried again after it was given up
  if (dead && (!last || last.startedAt <= dead.time)) return is('dead')
  if (!last && !isRouted) return is(null)
  if (!last) return is(event.receivedAt >= knownSince ? 'waiting' : 'unknown')
  if (last.outcome === 'cancelled') return is('cancelled')
  const after = afterAttempt(attempts, last, ladder)
  const longestMs = Math.max(0, ...ladder.ladder.map(({ delayMs }) => delayMs))
  // what came of the next attempt is not known any more
  const isOld = (after.nextAttemptAt ?? last.startedAt + longestMs) < knownSince
  return after.state === 'retrying' && isOld ? is('unknown') : after
}

/** What the deliverer decides by the last round, as far as the log tells: a receiver's Retry-After and the end of a deferral it does not. */
export function afterAttempt(attempts: readonly Attempt[], last: Attempt, ladder: Ladder): Standing {
  const latest = lastAttemptPerWebhook(attempts, last)
  const round = latest.filter(({ outcome }) => outcome !== 'deferred')
  const isDeferred = round.length < latest.length && !round.some(({ outcome }) => outcome === 'retry')
  if (isDeferred) return { state: 'retrying', nextAttemptAt: null }
  const endedAt = Math.max(...round.map(({ startedAt, durationMs }) => startedAt + durationMs))
  const first = attempts.findLast(({ attempt, outcome }) => attempt === 1 && outcome !== 'deferred')
  const delivery = { ...BARE, attempt: last.attempt - 1, firstAttemptAt: first?.startedAt ?? null }
  const posted = round.map((each) => ({
    ...each,
    urlIndex: each.urlIndex ?? 0,
    url: '',
    outcome: outcomeOf(each),
  }))
  const decided = next(delivery, posted, endedAt, ladder)
  if (decided.kind === 'done') return { state: 'delivered', nextAttemptAt: null }
  if (decided.kind === 'dead') return { state: 'dead', nextAttemptAt: null }
  return { state: 'retrying', nextAttemptAt: decided.dueAt }
}

/** The latest record of each URL in the last attempt. Before it, the URL may have been deferred. */
function lastAttemptPerWebhook(attempts: readonly Attempt[], last: Attempt): Attempt[] {
  const since = attempts.findLastIndex(({ attempt }) => attempt !== last.attempt)
  return [...new Map(attempts.slice(since + 1).map((each) => [each.urlIndex, each])).values()]
}

/** Of a delivery all that the ladder goes by is in its attempts. */
const BARE: Delivery = {
  ...UNTRIED,
  deliveryId: '',
  messageId: '',
  sourceId: '',
  destinationId: '',
  type: '',
  body: '',
  routedAt: 0,
}
