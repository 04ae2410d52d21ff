import type { Rejection } from './answer.ts'
import { type AnalyticsError, fault } from './errors.ts'

/** The last try that ended by itself, and how many there were. */
export type LastTry = { error: Error & { status?: number; reason?: string }; tries: number }

/** What came of a batch. `aborted`: it was not over when the signal came. */
export type Delivered =
  | { outcome: 'sent'; rejected: readonly Rejection[] }
  | { outcome: 'failed'; error: AnalyticsError }
  | { outcome: 'aborted'; last: LastTry | undefined }

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
