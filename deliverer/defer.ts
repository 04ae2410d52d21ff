import type { Delivery } from '../schemas/delivery.ts'
import type { Rung } from '../schemas/topics.ts'
import type { Ladder, Next, Posted } from './ladder.ts'
import type { Target } from './plan.ts'
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
const isOurs = (code: string) => code === 'queue_full' || code === 'aborted' || OURS.has(code)

type Rest = { targets: readonly Target[]; posted: readonly Posted[]; waitMs: number; now: number }

/**
 * One URL has the event. Those that could not be posted to for a reason of ours still get it, later and once: the seed posts each
 * event to each URL, and does not retry a URL that failed when another succeeded. A webhook with an open breaker is left out.
 * @param rest.posted what came of the targets that were posted to or passed over.
 */
export function deferRest(delivery: Delivery, { targets, posted, waitMs, now }: Rest, ladder: Ladder): Next {
  const outOfRoom = posted.filter(({ outcome }) => 'code' in outcome && isOurs(outcome.code))
  if (outOfRoom.length === 0) return { kind: 'done' }
  const settled = targets.filter(({ urlIndex }) => !outOfRoom.some((one) => one.urlIndex === urlIndex))
  const refusedUrls = [...delivery.refusedUrls, ...settled.map(({ url }) => url)]
  const deferred = defer({ ...delivery, delivered: true, refusedUrls }, waitMs, now, ladder)
  // it was delivered: that the rest is too late makes no dead letter of it
  return deferred.kind === 'dead' ? { kind: 'done' } : deferred
}
