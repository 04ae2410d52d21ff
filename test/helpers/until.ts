import { setTimeout as sleep } from 'node:timers/promises'

export type UntilOptions = { timeout?: number; message?: string | (() => string) }

/**
 * Polls until the condition gives something true, and returns that. What it throws counts as "not yet" and is
 * named in the error at the end of the time.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: UntilOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeout = 30_000, message = 'condition' } = options
  let cause: unknown
  for (const giveUp = performance.now() + timeout; performance.now() < giveUp; await sleep(20)) {
    try {
      const value = await condition()
      if (isTrue(value)) return value
      cause = undefined
    } catch (error) {
      cause = error
    }
  }
  const what = typeof message === 'string' ? message : message()
  throw new Error(`not within ${timeout} ms: ${what}${cause === undefined ? '' : `; last: ${cause}`}`)
}

function isTrue<T>(value: T): value is Exclude<T, false | null | undefined> {
  return Boolean(value)
}
