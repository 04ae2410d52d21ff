import type { Delivery } from '../schemas/delivery.ts'
import type { Rung } from '../schemas/topics.ts'
import type { Ladder, Next } from './ladder.ts'

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
