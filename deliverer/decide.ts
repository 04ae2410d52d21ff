import { LOCAL_CODES } from '../delivery/breaker.ts'
import {
  type AttemptResult,
  isFinal,
  isRetry,
  type Ladder,
  type Next,
  next,
  windowStart,
  withoutFinal,
} from '../delivery/ladder.ts'
import { type Prepared, settledWith, type Target } from '../delivery/targets.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Rung } from '../schemas/topics.ts'
import type { Attempted } from './attempt.ts'
import type { DeferCode } from './lane/state.ts'

export type WithNextRecord = Exclude<Next, { kind: 'done' }>

/** `deferred`: targets that wait for an attempt. */
export type Settlement = (Next | { kind: 'cancelled'; code: string }) & { deferred?: readonly Target[] }

/** `again`: prepare it again, or release it to the next owner of its partition. */
export type Decision = Settlement | { kind: 'again' } | { kind: 'park'; reason: string }

/** A delivery with unreadable settings is posted within this time after they are repaired. */
const UNREADABLE_MS = 60_000

export function decideUnsent(
  delivery: Delivery,
  { prepared, now }: { prepared: Exclude<Prepared, { kind: 'post' }>; now: number },
  ladder: Ladder,
): Settlement {
  switch (prepared.kind) {
    case 'unreadable': {
      const deferral = defer(delivery, { waitMs: UNREADABLE_MS, now }, ladder)
      return deferral.kind === 'dead' && delivery.delivered ? { kind: 'done' } : deferral
    }
    case 'paused':
      return hold(delivery, { since: prepared.since, now }, ladder)
    case 'cancelled':
      return delivery.delivered ? { kind: 'done' } : prepared
    case 'refused':
      return delivery.delivered ? { kind: 'done' } : next(delivery, { results: [], now }, ladder)
  }
}

type Facts = { targets: readonly Target[]; attempted: Attempted; isOwned: boolean; now: number }

/** `isOwned`: this process still owns the partition. */
export function decide(
  delivery: Delivery,
  { targets, attempted, isOwned, now }: Facts,
  ladder: Ladder,
): Decision {
  const { results, waitMs, dropped, fault } = attempted
  if (fault) return { kind: 'park', reason: String(fault) }
  if (isUndecided(attempted) || (!isOwned && isAborted(results))) return { kind: 'again' }
  if (delivery.delivered || results.some(isDelivered)) {
    const rest = withoutAttempt(delivery, { targets, results, dropped })
    return deferRest(delivery, { targets, rest, waitMs, now }, ladder)
  }
  if (results.some(isRetry) || results.every(isFinal)) return next(delivery, { results, now }, ladder)
  const deferred = targets.filter((target) => isDeferred(target, results))
  return { ...defer(withoutFinal(delivery, results), { waitMs, now }, ladder), deferred }
}

const isDelivered = ({ outcome }: AttemptResult) => outcome.outcome === 'delivered'

const isDeferred = ({ urlIndex }: Target, results: readonly AttemptResult[]) =>
  results.some((result) => result.urlIndex === urlIndex && result.outcome.outcome === 'deferred')

/** This process is ending and has aborted the POST: the next owner repeats the attempt. */
const isAborted = (results: readonly AttemptResult[]) =>
  results.some(({ outcome }) => outcome.outcome === 'retry' && outcome.code === 'aborted') &&
  !results.some(isDelivered)

/** A skipped webhook might have delivered, which matters if no other has and no retry follows. */
const isUndecided = ({ hasSkipped, results }: Attempted) =>
  hasSkipped && !results.some((result) => isDelivered(result) || isRetry(result))

/**
 * Puts a delivery on a rung without an attempt. Each deferral in a row may use the next longer rung, so a dead
 * webhook's backlog costs little. None is longer than `waitMs`, so it comes back soon. The retry window includes
 * deferrals (docs/decisions/009).
 */
export function defer(
  delivery: Delivery,
  { waitMs, now }: { waitMs: number; now: number },
  { ladder, windowMs }: Ladder,
): WithNextRecord {
  const firstAttemptAt = delivery.firstAttemptAt ?? now
  const deferred = { ...delivery, firstAttemptAt, deferrals: delivery.deferrals + 1 }
  const lengths = [...ladder].sort((one, other) => one.delayMs - other.delayMs)
  const withinReach = lengths.slice(0, deferralsOf(delivery) + 1)
  const inTime = ({ delayMs }: Rung) => now + delayMs <= windowStart(deferred, now) + windowMs
  const rung = withinReach.findLast((each) => each.delayMs <= waitMs && inTime(each)) ?? lengths.find(inTime)
  if (!rung)
    return {
      kind: 'dead',
      reason: 'window_expired',
      delivery: { ...deferred, deadReason: 'window_expired', deadAt: now },
    }
  return { kind: 'defer', rung, dueAt: now + rung.delayMs, delivery: deferred }
}

/** Holds before the first attempt do not count. They leave `firstAttemptAt` null. */
export const deferralsOf = ({ deferrals, firstAttemptAt }: Delivery): number =>
  firstAttemptAt === null ? 0 : deferrals

/** Defers without a limit. Time on hold does not count towards the retry window. */
function hold(
  delivery: Delivery,
  { since, now }: { since: number; now: number },
  { ladder }: Ladder,
): WithNextRecord {
  const { firstAttemptAt } = delivery
  const begun = { ...delivery, firstAttemptAt: firstAttemptAt ?? now }
  // as after an outage: held deliveries arrive within a quarter of the length of the pause
  const waitMs = (now - since) / 4
  const held = defer(begun, { waitMs, now }, { ladder, windowMs: Number.POSITIVE_INFINITY })
  if (held.kind !== 'defer') return held
  const laterBy = held.dueAt - now
  const windowStartsAt = firstAttemptAt === null ? null : firstAttemptAt + laterBy
  return { ...held, delivery: { ...held.delivery, firstAttemptAt: windowStartsAt } }
}

const IS_LOCAL: Record<DeferCode, boolean> = { queue_full: true, breaker_open: false }
const LOCAL = new Set(Object.entries(IS_LOCAL).flatMap(([code, isLocal]) => (isLocal ? code : [])))

/** Not the receiver's fault: no room, a POST that we aborted, or a shortage on this machine. */
const isLocalCode = (code: string | null) =>
  code !== null && (LOCAL.has(code) || code === 'aborted' || LOCAL_CODES.has(code))
const isLocal = ({ outcome }: AttemptResult) => 'code' in outcome && isLocalCode(outcome.code)

const NONE: readonly Target[] = []

type Missing = {
  targets: readonly Target[]
  results: readonly AttemptResult[]
  dropped: readonly Target[]
}

/** Targets that never had an attempt because of us. (An open breaker is the receiver's doing.) */
function withoutAttempt({ history }: Delivery, { targets, results, dropped }: Missing): readonly Target[] {
  if (dropped.length === 0 && !results.some(isLocal)) return NONE
  const isMissing = (target: Target) =>
    dropped.includes(target) ||
    results.some((result) => result.urlIndex === target.urlIndex && isLocal(result))
  const wasAttempted = ({ urlIndex }: Target) =>
    history.some((past) => past.urlIndex === urlIndex && past.outcome === 'retry' && !isLocalCode(past.code))
  return targets.filter((target) => isMissing(target) && !wasAttempted(target))
}

type Rest = { targets: readonly Target[]; rest: readonly Target[]; waitMs: number; now: number }

/** One webhook has the event, so failed ones are not retried. Only `rest` still gets an attempt. */
function deferRest(delivery: Delivery, { targets, rest, waitMs, now }: Rest, ladder: Ladder): Settlement {
  if (rest.length === 0) return { kind: 'done' }
  const settled = targets.filter((target) => !rest.includes(target))
  const left = { ...delivery, ...settledWith(delivery, settled), delivered: true }
  const deferral = defer(left, { waitMs, now }, ladder)
  // no dead letter, as one webhook has the event
  return deferral.kind === 'dead'
    ? { kind: 'done', missed: rest, deferred: rest }
    : { ...deferral, deferred: rest }
}
