import { setTimeout as sleep } from 'node:timers/promises'

/** Microseconds of the clock that all processes of a machine share and that nobody sets: what one of them writes another can compare. */
export function nowUs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e6 + Math.floor(nanoseconds / 1e3)
}

export const sleepUntil = (us: number) => sleep(Math.max(0, (us - nowUs()) / 1_000))
