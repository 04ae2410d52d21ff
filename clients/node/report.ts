import { type Failure, summaryOf } from './failure.ts'

/** The return value is ignored, but a promise is awaited. */
export type OnFailure = (failure: Failure) => unknown

/** Resolves when the failures have been handled. Never rejects. */
export type Report = (failures: readonly Failure[]) => Promise<void>

/**
 * Passes each failure of a batch to the caller's function, and waits for all promises that it returns. Without a function, emits a
 * process warning of one line. An error of the function becomes a warning too.
 */
export function reporter(onFailure: OnFailure | undefined): Report {
  return async (failures) => {
    if (failures.length === 0) return
    if (onFailure) await Promise.all(failures.map((failure) => call(onFailure, failure)))
    else await warn(summaryOf(failures))
  }
}

async function call(onFailure: OnFailure, failure: Failure): Promise<void> {
  try {
    await onFailure(failure)
  } catch (error) {
    await warn(`onFailure has failed: ${error instanceof Error ? error.stack : 'no error'}`)
  }
}

/** Code of the warning about retries: `node --disable-warning=SLUICE_TRYING_AGAIN` turns it off. */
export const TRYING_AGAIN = 'SLUICE_TRYING_AGAIN'

/**
 * Emits a process warning: one line on stderr by default, without any content of the calls. Resolves when it is printed: Node prints
 * it in the next tick, and not at all if the process exits before.
 */
export function warn(message: string, code?: typeof TRYING_AGAIN): Promise<void> {
  process.emitWarning(message, { type: 'AnalyticsWarning', ...(code && { code }) })
  return new Promise((resolve) => process.nextTick(resolve))
}
