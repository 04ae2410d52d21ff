import type { Outcome } from '../classify.ts'
import type { Ended } from './breaker.ts'

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
