import type { Rejection } from './answer.ts'
import type { CallType } from './calls.ts'
import type { Encoded } from './encode.ts'
import { AnalyticsError } from './errors.ts'

/** A call that was taken and could not be delivered: `json` as it was sent. */
export type FailedMessage = { readonly type: CallType; readonly messageId: string; readonly json: string }

/** What `onFailure` gets: why, and which calls, in their order. */
export type Failure = { readonly error: AnalyticsError; readonly messages: readonly FailedMessage[] }

/** Calls that failed together. */
export function failureOf(error: AnalyticsError, calls: readonly Encoded[]): Failure {
  return { error, messages: calls.map(({ type, messageId, json }) => ({ type, messageId, json })) }
}

/** The calls of a batch that the service has rejected, each with its own code. Places outside of the batch are ignored. */
export function rejectionsOf(batch: readonly Encoded[], rejected: readonly Rejection[]): Failure[] {
  return rejected.flatMap(({ index, code, message }) => {
    const call = batch[index]
    if (!call) return []
    const error = new AnalyticsError(code, `The service rejected the call: ${message}`, { status: 200 })
    return [failureOf(error, [call])]
  })
}

/** One line for all failures of a batch, without anything of what the calls hold. */
export function summaryOf(failures: readonly Failure[]): string {
  const calls = failures.flatMap((failure) => failure.messages).length
  const codes = [...new Set(failures.map(({ error }) => error.code))].join(', ')
  return `${calls} ${calls === 1 ? 'call' : 'calls'} could not be delivered (${codes}). ${failures[0]?.error.message}`
}
