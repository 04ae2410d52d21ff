import type { LoadReport } from '../load/process.ts'
import type { EndpointsReport } from '../receivers/endpoints-process.ts'

/** What came of a scenario, from the turn on. */
export type Outcome = EndpointsReport & {
  load: LoadReport
  /** CPU of the deliverer in microseconds for each call that was due, bad endpoints' too. */
  delivererUs: number
  /** Share of the machine's cores that was idle: near 0, the machine was the limit or others used it, and the figures are void. */
  idleShare: number
  /** Records that were written to rungs: failed, or put off without an attempt. */
  toRungs: number
  /** POSTs that found nobody listening, retries among them. */
  refused: number
}

/** For whoever watches. */
export function inShort({ windows, load, delivererUs, toRungs, idleShare }: Outcome): string {
  const each = windows.map(
    ({ due, inTime, p50Ms, p99Ms }) =>
      `${((inTime / due) * 100).toFixed(1)} % of ${due} in time, p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`,
  )
  return `${each.join('; ')}; accepted after ${load.p99Ms.toFixed(1)} ms (p99), ${load.errors} errors; ${delivererUs.toFixed(0)} us; ${toRungs} to rungs; machine ${(idleShare * 100).toFixed(0)} % idle`
}
