import type { Rejection } from './answer.ts'
import { type AnalyticsError, fault } from './errors.ts'

/** What came of a batch. `aborted`: it was not over when the signal came. */
export type Delivered =
  | { outcome: 'sent'; rejected: readonly Rejection[] }
  | { outcome: 'failed'; error: AnalyticsError }
  | { outcome: 'aborted' }

/** What should not happen must not end the process that makes the calls. */
export const broken = (cause: unknown): Delivered => ({
  outcome: 'failed',
  error: fault('gave_up', 'The batch could not be sent, for a reason within this library.', { cause }),
})
