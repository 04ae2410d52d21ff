import { setTimeout as sleep } from 'node:timers/promises'

export type UntilOptions = { timeout?: number; message?: string | (() => string) }

/** Milliseconds between two looks: at first, and at most. A look costs whoever is asked as much as the wait is to show. */
const SOON_MS = 20
const SELDOM_MS = 100

/**
 * Polls until the condition gives something true, and returns that: the longer it has taken, the more seldom. What it throws counts
 * as "not yet" and is named in the error at the end of the time.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: UntilOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeout = 30_000, message = 'condition' } = options
  let cause: unknown
  const began = performance.now()
  const pause = () => Math.min(SELDOM_MS, Math.max(SOON_MS, (performance.now() - began) / 20))
  for (; performance.now() - began < timeout; await sleep(pause())) {
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
