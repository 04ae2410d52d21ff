import {
  afterPost,
  afterProbe,
  type Breaker,
  endedOf,
  FIRST_PROBE_MS,
  HEALTHY,
  PROBE_MS,
  permit,
} from '../../../delivery/breaker.ts'
import { outcomeOf } from '../../../delivery/outcome.ts'
import { KEPT_MS } from '../../../delivery/webhooks.ts'
import type { Attempt } from '../../../schemas/attempt.ts'

/** `half-open`: a probe is due or in progress. `unknown`: no recent attempts. */
export const BREAKER_STATES = ['closed', 'half-open', 'open', 'unknown'] as const
export type BreakerState = (typeof BREAKER_STATES)[number]

export type Breakers = {
  /** @param webhook its key: see `Target`. */
  observe(webhook: string, attempt: Attempt): void
  /** `since`: when the breaker opened or closed, if that was seen. */
  of(webhook: string, now: number): { state: BreakerState; since: number | null }
}

/** `disputedUntil`: one deliverer got a response, but another's breaker may be open until then. */
type Observed = { breaker: Breaker; since: number | null; observedAt: number; disputedUntil: number }

/**
 * The breakers of all deliverers, derived from the attempts in the log. A deferral with `breaker_open` shows that one
 * is open. If deliverers differ, the worst state counts.
 */
export function createBreakers(): Breakers {
  const known = new Map<string, Observed>()
  let forgotAt = 0

  function forget(now: number): void {
    if (now - forgotAt < KEPT_MS) return
    forgotAt = now
    for (const [webhook, { observedAt }] of known) if (now - observedAt > KEPT_MS) known.delete(webhook)
  }

  return {
    observe(webhook, attempt) {
      const at = attempt.startedAt + attempt.durationMs
      forget(at)
      const before = known.get(webhook) ?? UNKNOWN
      // partitions of the topic have no common order
      if (at < (before.since ?? at)) return
      const observedAt = Math.max(before.observedAt, at)
      known.set(webhook, { ...before, ...after(before, attempt, at), observedAt })
    },

    of(webhook, now) {
      const { breaker, since, observedAt, disputedUntil } = known.get(webhook) ?? UNKNOWN
      if (now - observedAt > KEPT_MS) return { state: 'unknown', since: null }
      if (!breaker.open) return { state: now < disputedUntil ? 'open' : 'closed', since }
      return { state: permit(breaker, now) === 'probe' ? 'half-open' : 'open', since }
    },
  }
}

const UNKNOWN: Observed = {
  breaker: HEALTHY,
  since: null,
  observedAt: Number.NEGATIVE_INFINITY,
  disputedUntil: Number.NEGATIVE_INFINITY,
}

function after({ breaker, since }: Observed, attempt: Attempt, at: number): Partial<Observed> {
  const outcome = outcomeOf(attempt)
  if (outcome.outcome === 'deferred')
    return outcome.code === 'breaker_open' ? afterDeferral(breaker, since, at) : {}
  const ended = endedOf(outcome)
  if (!ended) return {}
  // while the breaker is open, only probes start
  const isProbe = breaker.open && attempt.startedAt >= (since ?? at)
  const next = afterPost(isProbe ? afterProbe(breaker, attempt.startedAt) : breaker, ended, at)
  return next.open === breaker.open ? { breaker: next } : { breaker: next, since: at }
}

/** A deliverer's breaker is open, although another's may have closed. */
function afterDeferral(breaker: Breaker, since: number | null, at: number): Partial<Observed> {
  if (breaker.open) return {}
  if (since !== null) return { disputedUntil: at + PROBE_MS }
  // its next probe is still to come, or this would have been it
  return { breaker: { ...HEALTHY, open: true, probeAt: at + FIRST_PROBE_MS }, since: at }
}
