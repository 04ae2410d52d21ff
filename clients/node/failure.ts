import type { Rejections } from './answer.ts'
import { TRIED_FOR_MS } from './backoff.ts'
import type { QueuedMessage } from './calls.ts'
import { type Encoded, idIn } from './encode.ts'
import { AnalyticsError, callsOf, fault } from './errors.ts'

/** The last attempt that was not aborted. */
export type LastTry = { error: Error & { status?: number; reason?: string }; tries: number }

/** `aborted`: unfinished when the signal came. */
export type Delivered =
  | ({ outcome: 'sent' } & Rejections)
  | { outcome: 'failed'; error: AnalyticsError }
  | { outcome: 'aborted'; last: LastTry | undefined }

/** A queued call that could not be delivered. */
export type FailedMessage = QueuedMessage

/** What `onFailure` receives: the reason and the calls, in order. */
export type Failure = { readonly error: AnalyticsError; readonly messages: readonly FailedMessage[] }

export type Failed = { readonly error: AnalyticsError; readonly calls: readonly Encoded[] }

export function failedOf(calls: readonly Encoded[], delivered: Delivered): Failed[] {
  if (delivered.outcome === 'sent') return [...listedOf(calls, delivered), ...unlistedOf(calls, delivered)]
  return [{ error: delivered.outcome === 'failed' ? delivered.error : outOfTime(delivered.last), calls }]
}

export const failureOf = ({ error, calls }: Failed): Failure => ({ error, messages: calls.map(messageOf) })

export const messageOf = (call: Encoded): QueuedMessage => ({
  type: call.type,
  messageId: idIn(call),
  json: call.json,
})

/** Ignores indexes outside the batch. */
function listedOf(batch: readonly Encoded[], { rejected }: Rejections): Failed[] {
  return rejected.flatMap(({ index, code, message }) => {
    const call = batch[index]
    if (!call) return []
    const text = `The service rejected the call${message === '' ? '.' : `: ${message}`}`
    const error = new AnalyticsError(code, text, { status: 200 })
    return [{ error, calls: [call] }]
  })
}

/** Each call after the listed ones may be one of them. */
function unlistedOf(batch: readonly Encoded[], { rejected, unlisted = 0 }: Rejections): Failed[] {
  const last = rejected.reduce((most, { index }) => (batch[index] ? Math.max(most, index) : most), -1)
  const calls = batch.slice(last + 1)
  if (unlisted <= 0 || calls.length === 0) return []
  const which =
    unlisted < calls.length ? `${unlisted} of these ${calls.length} calls, without listing which` : 'the call'
  return [{ error: fault('rejected', `The service rejected ${which}.`, { status: 200 }), calls }]
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

/** One line, without content of calls. */
export function summaryOf(failed: readonly Failed[]): string {
  const count = failed.flatMap(({ calls }) => calls).length
  const codes = [...new Set(failed.map(({ error }) => error.code))].join(', ')
  return `${callsOf(count)} could not be delivered (${codes}). ${failed[0]?.error.message}`
}

export function gaveUp(last: LastTry, since: 'tries' | 'time'): Delivered {
  const { error, tries } = last
  const message =
    since === 'time'
      ? `Gave up after ${TRIED_FOR_MS / 60_000} minutes: ${error.message}`
      : `No success after ${tries} ${tries === 1 ? 'attempt' : 'attempts'}. The last error: ${error.message}`
  return { outcome: 'failed', error: fault('gave_up', message, { cause: error, ...factsOf(last) }) }
}

/** An unexpected error must not end the process. */
export const broken = (cause: unknown): Delivered => ({
  outcome: 'failed',
  error: fault('gave_up', 'The batch could not be sent because of an error in this library.', { cause }),
})

const factsOf = ({ error: { status, reason }, tries }: LastTry) => ({
  tries,
  ...(status !== undefined && { status }),
  ...(reason !== undefined && { reason }),
})
