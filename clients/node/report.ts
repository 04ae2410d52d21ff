import type { QueuedMessage } from './calls.ts'
import type { Encoded } from './encode.ts'
import type { AnalyticsError } from './errors.ts'
import { type Failed, type Failure, failureOf, messageOf, summaryOf } from './failure.ts'

/** Only a returned promise matters: it is awaited. */
export type OnFailure = (failure: Failure) => unknown

/** Receives the same as `onFailure`, as two arguments. */
export type ErrorListener = (error: AnalyticsError, messages: readonly QueuedMessage[]) => unknown

/** Resolves when all of the caller's functions have finished. Never rejects. */
export type Report = (calls: readonly Encoded[], failed: readonly Failed[]) => Promise<void>

export type Listening = { onFailure: OnFailure | undefined; listeners: () => readonly ErrorListener[] }

/** Failed calls that reach none of these functions become one process warning; so does an error of a function. */
export function reporter({ onFailure, listeners }: Listening): Report {
  return async (calls, failed) => {
    const finished: Promise<void>[] = []
    const unheard: Failed[] = []
    for (const each of failed) {
      const functions = [...listeners()]
      if (!onFailure && functions.length === 0) {
        unheard.push(each)
        continue
      }
      const failure = failureOf(each)
      if (onFailure) finished.push(call('onFailure', () => onFailure(failure)))
      for (const listener of functions)
        finished.push(call("A listener of 'error'", () => listener(failure.error, failure.messages)))
    }
    const called = callBack(calls, failed)
    const silent = unheard.flatMap(withoutCallback)
    if (silent.length > 0) finished.push(warn(summaryOf(silent)))
    // not `push(...called)`: so many arguments would overflow the stack
    await Promise.all([...finished, ...called])
  }
}

function withoutCallback({ error, calls }: Failed): Failed[] {
  const silent = calls.filter(({ callback }) => !callback)
  return silent.length > 0 ? [{ error, calls: silent }] : []
}

function callBack(calls: readonly Encoded[], failed: readonly Failed[]): Promise<void>[] {
  const errors = new Map(failed.flatMap(({ error, calls }) => calls.map((each) => [each, error] as const)))
  return calls.flatMap((each) => {
    const { callback } = each
    return callback
      ? [call('The callback of a call', () => callback(errors.get(each) ?? null, messageOf(each)))]
      : []
  })
}

async function call(name: string, run: () => unknown): Promise<void> {
  try {
    await run()
  } catch (error) {
    await warn(`${name} has failed: ${stackOf(error)}`)
  }
}

/** The caller may throw anything, even a value that throws when it is read. */
function stackOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return 'no error'
    return typeof thrown.stack === 'string' ? thrown.stack : 'no stack'
  } catch {
    return 'no stack'
  }
}

/** `node --disable-warning=SLUICE_TRYING_AGAIN` turns it off. */
export const TRYING_AGAIN = 'SLUICE_TRYING_AGAIN'

/** One line on stderr by default, without content of calls. Resolves when Node has printed it, in the next tick. */
export function warn(message: string, code?: typeof TRYING_AGAIN): Promise<void> {
  process.emitWarning(message, { type: 'AnalyticsWarning', ...(code && { code }) })
  return new Promise((resolve) => process.nextTick(resolve))
}
