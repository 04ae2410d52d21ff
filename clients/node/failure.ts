import type { Rejection } from './answer.ts'
import { TRIED_FOR_MS } from './backoff.ts'
import type { CallType } from './calls.ts'
import { type Encoded, idIn } from './encode.ts'
import { AnalyticsError, callsOf, fault } from './errors.ts'

/** The last attempt that was not aborted, and the number of attempts. */
export type LastTry = { error: Error & { status?: number; reason?: string }; tries: number }

/** The outcome of a batch. `aborted`: it was unfinished when the signal came. */
export type Delivered =
  | { outcome: 'sent'; rejected: readonly Rejection[] }
  | { outcome: 'failed'; error: AnalyticsError }
  | { outcome: 'aborted'; last: LastTry | undefined }

/** A queued call that could not be delivered; `json` as it was sent. */
export type FailedMessage = { readonly type: CallType; readonly messageId: string; readonly json: string }

/** What `onFailure` receives: the reason and the calls, in order. */
export type Failure = { readonly error: AnalyticsError; readonly messages: readonly FailedMessage[] }

export function failuresOf(calls: readonly Encoded[], delivered: Delivered): Failure[] {
  if (delivered.outcome === 'sent') return rejectionsOf(calls, delivered.rejected)
  return [failureOf(delivered.outcome === 'failed' ? delivered.error : outOfTime(delivered.last), calls)]
}

function failureOf(error: AnalyticsError, calls: readonly Encoded[]): Failure {
  return {
    error,
    messages: calls.map((call) => ({ type: call.type, messageId: idIn(call), json: call.json })),
  }
}

/** The calls that the service has rejected, each with its own code. Ignores indexes outside the batch. */
function rejectionsOf(batch: readonly Encoded[], rejected: readonly Rejection[]): Failure[] {
  return rejected.flatMap(({ index, code, message }) => {
    const call = batch[index]
    if (!call) return []
    const text = `The service rejected the call${message === '' ? '.' : `: ${message}`}`
    const error = new AnalyticsError(code, text, { status: 200 })
    return [failureOf(error, [call])]
  })
}

function outOfTime(last: LastTry | undefined): AnalyticsError {
  const message = 'The client was closed before the call could be sent.'
  if (!last)
    return fault('closed', message, {
      cause: new Error('closeTimeout has passed'),
    })
  return fault('closed', `${message} The last error: ${last.error.message}`, {
    cause: last.error,
    ...factsOf(last),
  })
}

/** One line for all failures of a batch, without any content of the calls. */
export function summaryOf(failures: readonly Failure[]): string {
  const calls = failures.flatMap((failure) => failure.messages).length
  const codes = [...new Set(failures.map(({ error }) => error.code))].join(', ')
  return `${callsOf(calls)} could not be delivered (${codes}). ${failures[0]?.error.message}`
}

/** A batch that is not retried: too many attempts, or the next one would be too late. */
export function gaveUp(last: LastTry, since: 'tries' | 'time'): Delivered {
  const { error, tries } = last
  const message =
    since === 'time'
      ? `Gave up after ${TRIED_FOR_MS / 60_000} minutes: ${error.message}`
      : `No success after ${tries} ${tries === 1 ? 'attempt' : 'attempts'}. The last error: ${error.message}`
  return { outcome: 'failed', error: fault('gave_up', message, { cause: error, ...factsOf(last) }) }
}

/** An unexpected error must not end the caller's process. */
export const broken = (cause: unknown): Delivered => ({
  outcome: 'failed',
  error: fault('gave_up', 'The batch could not be sent because of an error in this library.', { cause }),
})

export const factsOf = ({ error: { status, reason }, tries }: LastTry) => ({
  tries,
  ...(status !== undefined && { status }),
  ...(reason !== undefined && { reason }),
})
