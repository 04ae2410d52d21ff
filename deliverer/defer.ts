import { OURS } from '../delivery/breaker.ts'
import { type Ladder, type Next, type Posted, windowStart } from '../delivery/ladder.ts'
import { settledWith, type Target } from '../delivery/targets.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Rung } from '../schemas/topics.ts'

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

/** Not the receiver's fault: there was no room, we ended the POST, or this machine ran out of something. */
const isCodeOfOurs = (code: string | null) =>
  code !== null && (code === 'queue_full' || code === 'aborted' || OURS.has(code))
const isOurs = ({ outcome }: Posted) => 'code' in outcome && isCodeOfOurs(outcome.code)

const NONE: readonly Target[] = []

type Missing = { targets: readonly Target[]; posted: readonly Posted[]; dropped: readonly Target[] }

/**
 * Targets that have had no attempt yet, for a reason of ours. A target that failed in an earlier round has had its
 * attempt.
 * @param posted what this round led to. @param dropped targets that still waited when the partition was given up.
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
 * What happens next when one URL has the event. The targets in `rest` got no attempt for a reason of ours. They still
 * get one, later: each event is posted to each URL. URLs that failed are not retried, because another one succeeded,
 * and a webhook with an open breaker is left out.
 */
export function deferRest(delivery: Delivery, { targets, rest, waitMs, now }: Rest, ladder: Ladder): Next {
  if (rest.length === 0) return { kind: 'done' }
  const settled = targets.filter((target) => !rest.includes(target))
  const left = { ...delivery, ...settledWith(delivery, settled), delivered: true }
  const deferred = defer(left, waitMs, now, ladder)
  // one URL has the event, so it is no dead letter when the rest is too late
  return deferred.kind === 'dead' ? { kind: 'done', missed: rest } : deferred
}
