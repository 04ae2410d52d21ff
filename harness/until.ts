import { setTimeout as sleep } from 'node:timers/promises'

/** `timeout`: ms, 60,000 by default. `message`: names the condition in the error. */
export type UntilOptions = { timeout?: number; message?: string | (() => string) }

/** In ms. A poll costs CPU of the process under test. */
const SHORTEST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 100

/**
 * Polls until the condition returns something truthy, and returns that. Throwing counts as "not yet".
 * @throws after `timeout`, with what the condition last threw
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: UntilOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeout = 60_000, message = 'condition' } = options
  let cause: unknown
  const began = performance.now()
  const pause = () =>
    Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, (performance.now() - began) / 20))
  // checks once more after the timeout, because this process may have been held up since the last check
  for (let isLast = false; !isLast; await sleep(pause())) {
    isLast = performance.now() - began >= timeout
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
