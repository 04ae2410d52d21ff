import { type Failure, summaryOf } from './failure.ts'

export type OnFailure = (failure: Failure) => void
export type Report = (failures: readonly Failure[]) => void

/**
 * Hands the failures of one batch to the caller's function, one by one; without one, a warning of the process says so, in one line.
 * Whatever the function throws, or its promise rejects with, becomes such a warning too.
 */
export function reporter(onFailure: OnFailure | undefined): Report {
  return (failures) => {
    if (failures.length === 0) return
    if (!onFailure) return warn(summaryOf(failures))
    for (const failure of failures) tell(onFailure, failure)
  }
}

function tell(onFailure: (failure: Failure) => unknown, failure: Failure): void {
  try {
    // an async function is accepted where one without a result is asked for
    Promise.resolve(onFailure(failure)).catch(blame)
  } catch (error) {
    blame(error)
  }
}

const blame = (error: unknown) =>
  warn(`onFailure has thrown: ${error instanceof Error ? error.stack : 'no error'}`)

const warn = (message: string) => process.emitWarning(message, { type: 'AnalyticsWarning' })
