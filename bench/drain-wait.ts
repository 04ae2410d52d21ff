import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from './clock.ts'

export type Backlog = {
  /** Requests that were answered so far. */
  answered(): Promise<number>
  /** Those that should have been answered by then. */
  due(atUs: number): number
  arrivalsPerSecond: number
  untilUs: number
}

const POLL_MS = 250
const TELLS_EVERY = 20

/**
 * Waits until no more is outstanding than comes in within a second. @returns what was outstanding at first, and what was answered
 * since. @throws when it is not worked off in time.
 */
export async function workOff({ answered, due, arrivalsPerSecond, untilUs }: Backlog) {
  const first = await answered()
  const backlog = Math.round(due(nowUs()) - first)
  for (let polled = 0; nowUs() < untilUs; polled++) {
    const now = await answered()
    const left = due(nowUs()) - now
    if (left <= arrivalsPerSecond) return { backlog, answered: now - first }
    if (polled % TELLS_EVERY === 0) process.stderr.write(`${Math.round(left)} calls are left\n`)
    await sleep(POLL_MS)
  }
  throw new Error(`of ${backlog} calls that waited not all are worked off in time`)
}
