import type { Delivery } from '../schemas/delivery.ts'
import type { Rung } from '../schemas/topics.ts'
import type { Ladder, Next, Posted } from './ladder.ts'
import { settledWith, type Target } from './plan.ts'
import { OURS } from './webhook/ended.ts'

/**
 * A delivery that none of its URLs can take now waits on a rung without an attempt. Each deferral in a row may pick the next
 * longer rung, so that a dead endpoint's backlog costs little; but none that is longer than `waitMs`, so that the backlog comes
 * back soon when the endpoint does. The window runs from the first deferral too, and ends them (docs/decisions/009).
 * @param waitMs what the lane advises: see `Refusal`.
 */
export function defer(delivery: Delivery, waitMs: number, now: number, { ladder, windowMs }: Ladder): Next {
  const firstAttemptAt = delivery.firstAttemptAt ?? now
  const deferred = { ...delivery, firstAttemptAt, deferrals: delivery.deferrals + 1 }
  const lengths = [...ladder].sort((one, other) => one.delayMs - other.delayMs)
  const withinReach = lengths.slice(0, delivery.deferrals + 1)
  const inTime = ({ delayMs }: Rung) => now + delayMs <= firstAttemptAt + windowMs
  const rung = withinReach.findLast((each) => each.delayMs <= waitMs && inTime(each)) ?? lengths.find(inTime)
  if (!rung)
    return {
      kind: 'dead',
      reason: 'window_expired',
      delivery: { ...deferred, deadReason: 'window_expired', deadAt: now },
    }
  return { kind: 'defer', rung, dueAt: now + rung.delayMs, delivery: deferred }
}

/** A POST that was not made for want of room, that we ended ourselves, or for which this machine lacked something. */
const isCodeOfOurs = (code: string | null) =>
  code !== null && (code === 'queue_full' || code === 'aborted' || OURS.has(code))
const isOurs = ({ outcome }: Posted) => 'code' in outcome && isCodeOfOurs(outcome.code)

const NONE: readonly Target[] = []

type Missing = { targets: readonly Target[]; posted: readonly Posted[]; dropped: readonly Target[] }

/**
 * Targets that have had no attempt at all, for a reason of ours. One that failed in an earlier round has had its attempt.
 * @param posted what became of the others, and of these. @param dropped those that still waited when the partition was given up.
 */
export function withoutAttempt(
  { history }: Delivery,
  { targets, posted, dropped }: Missing,
): readonly Target[] {
  if (dropped.length === 0 && !posted.some(isOurs)) return NONE
  const isMissing = (target: Target) =>
    dropped.includes(target) || posted.some((one) => one.urlIndex === target.urlIndex && isOurs(one))
  const wasTried = ({ urlIndex }: Target) =>
    history.some((past) => past.urlIndex === urlIndex && past.outcome === 'retry' && !isCodeOfOurs(past.code))
  return targets.filter((target) => isMissing(target) && !wasTried(target))
}

type Rest = { targets: readonly Target[]; rest: readonly Target[]; waitMs: number; now: number }

/**
 * One URL has the event. The `rest` of its targets, which got no attempt for a reason of ours, still get it, later and once: the seed
 * posts each event to each URL, and does not retry a URL that failed when another succeeded. A webhook with an open breaker
 * is left out.
 */
export function deferRest(delivery: Delivery, { targets, rest, waitMs, now }: Rest, ladder: Ladder): Next {
  if (rest.length === 0) return { kind: 'done' }
  const settled = targets.filter((target) => !rest.includes(target))
  const left = { ...delivery, ...settledWith(delivery, settled), delivered: true }
  const deferred = defer(left, waitMs, now, ladder)
  // it was delivered: that the rest is too late makes no dead letter of it
  return deferred.kind === 'dead' ? { kind: 'done', missed: rest } : deferred
}
