import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from '../load/clock.ts'

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
 * Waits until no more is outstanding than comes in within a second, or the time is over. @returns what was outstanding at first and at
 * the end, and what was answered between.
 */
export async function workOff({ answered, due, arrivalsPerSecond, untilUs }: Backlog) {
  const first = await answered()
  const backlog = Math.round(due(nowUs()) - first)
  for (let polled = 0; ; polled++) {
    const now = await answered()
    const left = due(nowUs()) - now
    if (left <= arrivalsPerSecond || nowUs() >= untilUs)
      return { backlog, answered: now - first, left: Math.max(0, Math.round(left)) }
    if (polled % TELLS_EVERY === 0) process.stderr.write(`${Math.round(left)} calls are left\n`)
    await sleep(POLL_MS)
  }
}
