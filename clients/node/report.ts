import { type Failure, summaryOf } from './failure.ts'
import { warn } from './warning.ts'

/** What it returns says nothing, but a promise is waited for. */
export type OnFailure = (failure: Failure) => unknown

/** Resolves when the failures are taken. Never rejects. */
export type Report = (failures: readonly Failure[]) => Promise<void>

/**
 * Hands the failures of one batch to the caller's function, one by one and at once; they are taken when all promises that it has
 * returned are settled. Without one, a warning of the process says so, in one line, and they are taken when that is out. Whatever the function throws, or its promise
 * rejects with, becomes such a warning too.
 */
export function reporter(onFailure: OnFailure | undefined): Report {
  return async (failures) => {
    if (failures.length === 0) return
    if (onFailure) await Promise.all(failures.map((failure) => tell(onFailure, failure)))
    else await warn(summaryOf(failures))
  }
}

async function tell(onFailure: OnFailure, failure: Failure): Promise<void> {
  try {
    await onFailure(failure)
  } catch (error) {
    await warn(`onFailure has thrown: ${error instanceof Error ? error.stack : 'no error'}`)
  }
}
