import type { Rejection } from './answer.ts'
import { TRIED_FOR_MS } from './backoff.ts'
import { type AnalyticsError, fault } from './errors.ts'

/** The last try that ended by itself, and how many there were. */
export type LastTry = { error: Error & { status?: number; reason?: string }; tries: number }

/** What came of a batch. `aborted`: it was not over when the signal came. */
export type Delivered =
  | { outcome: 'sent'; rejected: readonly Rejection[] }
  | { outcome: 'failed'; error: AnalyticsError }
  | { outcome: 'aborted'; last: LastTry | undefined }

/** A batch that is tried no more: there were enough tries, or the next one would come too late. */
export function gaveUp(last: LastTry, since: 'tries' | 'time'): Delivered {
  const { error, tries } = last
  const message =
    since === 'time'
      ? `Gave up after ${TRIED_FOR_MS / 60_000} minutes: ${error.message}`
      : `No success in ${tries} ${tries === 1 ? 'try' : 'tries'}. The last: ${error.message}`
  return { outcome: 'failed', error: fault('gave_up', message, { cause: error, ...factsOf(last) }) }
}

/** What should not happen must not end the process that makes the calls. */
export const broken = (cause: unknown): Delivered => ({
  outcome: 'failed',
  error: fault('gave_up', 'The batch could not be sent, for a reason within this library.', { cause }),
})

/** What an error says of the tries before it, as far as there is something to say. */
export const factsOf = ({ error: { status, reason }, tries }: LastTry) => ({
  tries,
  ...(status !== undefined && { status }),
  ...(reason !== undefined && { reason }),
})
