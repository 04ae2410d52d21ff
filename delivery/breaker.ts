import type { Outcome } from './outcome.ts'

/** Any response below 500 is an answer. */
export type Ended = 'answered' | 'failed' | 'timed_out'

/**
 * A webhook or a host has one. While it is open, only probes may begin (docs/understand/isolation.md). Times are
 * monotonic milliseconds.
 */
export type Breaker = {
  open: boolean
  probeAt: number
  probeEveryMs: number
  inRow: number
  /** Bits for the last 20 POSTs, the latest lowest: failures of any kind, and timeouts. */
  failed: number
  timedOut: number
  /** The first failure since the last answer. */
  failingSince: number | undefined
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
 * Any answer closes it, even to an earlier POST. It opens after 5 failures in a row, or when over half of the last 20
 * POSTs failed and 10 of them timed out.
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
  inRow >= OPENS_IN_ROW || (ones(failed) > OPENS_FAILED && ones(timedOut) >= OPENS_TIMED_OUT)

export function ones(bits: number): number {
  let count = 0
  for (let left = bits; left !== 0; left &= left - 1) count += 1
  return count
}

export function permit(breaker: Breaker, now: number): 'all' | 'probe' | 'nothing' {
  if (!breaker.open) return 'all'
  return now >= breaker.probeAt ? 'probe' : 'nothing'
}

/** Probes come after 2, 4 and 8 s, so that a short outage ends soon, then every 10 s. */
export function afterProbe(breaker: Breaker, now: number): Breaker {
  const probeEveryMs = Math.min(breaker.probeEveryMs * 2, PROBE_MS)
  return { ...breaker, probeAt: now + probeEveryMs, probeEveryMs }
}

/** This machine lacks a resource, which says nothing about any webhook. */
export const LOCAL_CODES: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EADDRNOTAVAIL',
])

/** A rejection counts as an answer, and so does a refusal (certificate, address). */
export function endedOf(outcome: Outcome): Ended | undefined {
  if (outcome.outcome === 'delivered' || outcome.outcome === 'rejected' || outcome.outcome === 'refused')
    return 'answered'
  if (outcome.outcome !== 'retry' || LOCAL_CODES.has(outcome.code)) return undefined
  if (outcome.code === 'timeout') return 'timed_out'
  // a 4xx that the destination has retried is an answer
  return outcome.status !== undefined && outcome.status < 500 && outcome.code !== 'protocol_error'
    ? 'answered'
    : 'failed'
}
