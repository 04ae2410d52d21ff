import type { LoadReport } from '../load/process.ts'
import type { EndpointsReport } from '../receivers/endpoints-process.ts'

/** Figures of a scenario since some endpoints turned bad. */
export type ScenarioResult = EndpointsReport & {
  load: LoadReport
  /** The deliverer's CPU in us per call due, including calls for bad endpoints. */
  delivererUs: number
  /** Share of the machine's cores. Near 0 the machine was overloaded, and the figures mean nothing. */
  idleShare: number
  /** Records written to rungs, failed or deferred. */
  toRungs: number
  /** POSTs whose connection was refused, including retries. */
  refused: number
}

/** One line for the log. */
export function summary({ windows, load, delivererUs, toRungs, idleShare }: ScenarioResult): string {
  const each = windows.map(
    ({ due, inTime, p50Ms, p99Ms }) =>
      `${((inTime / due) * 100).toFixed(1)} % of ${due} in time, p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`,
  )
  return `${each.join('; ')}; accepted after ${load.p99Ms.toFixed(1)} ms (p99), ${load.errors} errors; ${delivererUs.toFixed(0)} us; ${toRungs} to rungs; machine ${(idleShare * 100).toFixed(0)} % idle`
}
