import type { Outcome } from './outcome.ts'

/** How a POST ended, as the breaker sees it. Any response below 500 is an answer. */
export type Ended = 'answered' | 'failed' | 'timed_out'

/**
 * The breaker of one webhook or of one host. While it is closed, every POST may begin. While it is open, only a probe may begin
 * now and then (docs/understand/isolation.md). Times are milliseconds of any clock that never goes back.
 */
export type Breaker = {
  open: boolean
  /** While open: no probe before. */
  probeAt: number
  /** From one probe to the next. */
  probeEveryMs: number
  /** Failures and time-outs since the last answer. */
  inRow: number
  /** The last 20 POSTs, the latest in the lowest bit: which failed in any way, and which timed out. */
  failed: number
  timedOut: number
  /** Since when nothing has answered; undefined when the last POST was answered. */
  failingSince: number | undefined
  /** When the last failure or time-out was, if nothing has answered since. */
  failedAt: number | undefined
}

const OPENS_IN_ROW = 5
const REMEMBERED = 20
const OPENS_FAILED = REMEMBERED / 2
const OPENS_TIMED_OUT = 10
export const FIRST_PROBE_MS = 1_000
export const PROBE_MS = 10_000
const MASK = 2 ** REMEMBERED - 1

export const HEALTHY: Breaker = {
  open: false,
  probeAt: 0,
  probeEveryMs: FIRST_PROBE_MS,
  inRow: 0,
  failed: 0,
  timedOut: 0,
  failingSince: undefined,
  failedAt: undefined,
}

/**
 * An answer closes it, also one to a POST from before it opened. It opens after 5 failures in a row, or when over half of the
 * last 20 failed and 10 of them timed out.
 */
export function afterPost(breaker: Breaker, ended: Ended, now: number): Breaker {
  if (breaker.open) return ended === 'answered' ? HEALTHY : breaker
  if (ended === 'answered') return afterAnswer(breaker)
  const seen = {
    ...breaker,
    inRow: breaker.inRow + 1,
    failed: ((breaker.failed << 1) | 1) & MASK,
    timedOut: ((breaker.timedOut << 1) | Number(ended === 'timed_out')) & MASK,
    failingSince: breaker.failingSince ?? now,
    failedAt: now,
  }
  return mustOpen(seen) ? opened(seen, now) : seen
}

export const opened = (breaker: Breaker, now: number): Breaker => ({
  ...breaker,
  open: true,
  probeAt: now + FIRST_PROBE_MS,
})

function afterAnswer(breaker: Breaker): Breaker {
  if (breaker.failed === 0) return breaker
  const failed = (breaker.failed << 1) & MASK
  const timedOut = (breaker.timedOut << 1) & MASK
  return { ...breaker, inRow: 0, failed, timedOut, failingSince: undefined, failedAt: undefined }
}

const mustOpen = ({ inRow, failed, timedOut }: Breaker) =>
  inRow >= OPENS_IN_ROW || (count(failed) > OPENS_FAILED && count(timedOut) >= OPENS_TIMED_OUT)

function count(bits: number): number {
  let ones = 0
  for (let left = bits; left !== 0; left &= left - 1) ones += 1
  return ones
}

/** What may go now. */
export function permit(breaker: Breaker, now: number): 'all' | 'probe' | 'nothing' {
  if (!breaker.open) return 'all'
  return now >= breaker.probeAt ? 'probe' : 'nothing'
}

/**
 * A probe goes. The first ones come after 1, 2, 4 and 8 s, so that a short trouble ends soon, then one every 10 s. The next
 * one's time does not hang on what becomes of this one.
 */
export function afterProbe(breaker: Breaker, now: number): Breaker {
  const probeEveryMs = Math.min(breaker.probeEveryMs * 2, PROBE_MS)
  return { ...breaker, probeAt: now + probeEveryMs, probeEveryMs }
}

/** This machine has run out of something. That says nothing about any webhook. */
export const OURS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'])

/**
 * What an outcome says about the webhook. A rejection is an answer. So is a refusal (certificate, address): it is known
 * at once and final, and waiting would gain nothing.
 */
export function endedOf(outcome: Outcome): Ended | undefined {
  if (outcome.outcome === 'delivered' || outcome.outcome === 'rejected' || outcome.outcome === 'refused')
    return 'answered'
  if (outcome.outcome !== 'retry' || OURS.has(outcome.code)) return undefined
  if (outcome.code === 'timeout') return 'timed_out'
  // asked to come later by a 4xx that the destination wants retried: it answers
  return outcome.status !== undefined && outcome.status < 500 && outcome.code !== 'protocol_error'
    ? 'answered'
    : 'failed'
}
