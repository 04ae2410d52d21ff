import type { Rejection } from './answer.ts'
import type { CallType } from './calls.ts'
import { type Delivered, factsOf, type LastTry } from './delivered.ts'
import { type Encoded, idIn } from './encode.ts'
import { AnalyticsError, callsOf, fault } from './errors.ts'

/** A call that was taken and could not be delivered: `json` as it was sent. */
export type FailedMessage = { readonly type: CallType; readonly messageId: string; readonly json: string }

/** What `onFailure` gets: why, and which calls, in their order. */
export type Failure = { readonly error: AnalyticsError; readonly messages: readonly FailedMessage[] }

/** What is to be reported of calls that are settled. */
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

/** The calls that the service has rejected, each with its own code. Places outside of the batch are ignored. */
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
      cause: new Error('the time that close() may take (closeTimeout) has passed'),
    })
  return fault('closed', `${message} The last try: ${last.error.message}`, {
    cause: last.error,
    ...factsOf(last),
  })
}

/** One line for all failures of a batch, without anything of what the calls hold. */
export function summaryOf(failures: readonly Failure[]): string {
  const calls = failures.flatMap((failure) => failure.messages).length
  const codes = [...new Set(failures.map(({ error }) => error.code))].join(', ')
  return `${callsOf(calls)} could not be delivered (${codes}). ${failures[0]?.error.message}`
}
