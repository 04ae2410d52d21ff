import { setTimeout as sleep } from 'node:timers/promises'

/** Microseconds of a monotonic clock that all processes of this machine share, so their times can be compared. */
export function nowUs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e6 + Math.floor(nanoseconds / 1e3)
}

export const sleepUntil = (us: number) => sleep(Math.max(0, (us - nowUs()) / 1_000))
