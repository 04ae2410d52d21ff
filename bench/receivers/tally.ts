import { createHistogram } from 'node:perf_hooks'

/** In microseconds (`nowUs`). */
export type Window = { fromUs: number; toUs: number }

/**
 * Call n is due n / perSecond after the start, with its whole batch. Single calls go to endpoint n modulo their number.
 */
export type Schedule = {
  fromUs: number
  perSecond: number
  /** Calls in each request, by default 1. */
  batch?: number
  calls: number
  endpoints: number
  /** The first endpoints, left out of the figures below. */
  bad: number
  windows: readonly Window[]
  /** Arrivals at endpoints before this one (default: 0) belong to another load, and are ignored. */
  countedFrom?: number
}

/** Calls to healthy endpoints that were due in a window. */
export type WindowReport = {
  due: number
  /** Arrived by now. */
  arrived: number
  /** Further arrivals of the same calls. */
  again: number
  /** Arrived by the window's end, plus a short grace period. */
  inTime: number
  /** Arrived within a second of the due time. */
  soon: number
  /** From due time to arrival. A missing call counts with its waiting time so far. */
  p50Ms: number
  p99Ms: number
}

export type Tally = ReturnType<typeof createTally>

/** For calls due at the very end of a window. */
export const GRACE_US = 250_000
const SOON_US = 1e6

/** Histograms and a byte per call, as lists would weigh on the measured processes. */
export function createTally({ fromUs, perSecond, batch = 1, calls, endpoints, bad, windows }: Schedule) {
  const arrived = new Uint8Array(calls)
  const tallies = windows.map((window) => ({
    ...{ ...window, inTime: 0, soon: 0, again: 0 },
    latencies: createHistogram(),
  }))
  const dueUs = (call: number) => fromUs + ((call - (call % batch)) * 1e6) / perSecond
  const isBad = (call: number) => call % endpoints < bad
  const within = ({ fromUs, toUs }: Window, call: number) => dueUs(call) >= fromUs && dueUs(call) < toUs
  const lateness = (call: number, now: number) => Math.max(1, Math.round(now - dueUs(call)))

  return {
    arrive(call: number, now: number): void {
      const before = arrived[call]
      if (isBad(call) || before === undefined) return
      arrived[call] = 1
      for (const tally of tallies) {
        if (!within(tally, call)) continue
        if (before !== 0) {
          tally.again += 1
          continue
        }
        const late = lateness(call, now)
        tally.latencies.record(late)
        if (late <= SOON_US) tally.soon += 1
        if (now <= tally.toUs + GRACE_US) tally.inTime += 1
      }
    },

    report(now: number): WindowReport[] {
      const outstanding = Array.from(arrived.keys()).filter((call) => !isBad(call) && arrived[call] === 0)
      return tallies.map(({ fromUs, toUs, inTime, soon, again, latencies }) => {
        const all = createHistogram()
        all.add(latencies)
        for (const call of outstanding) if (within({ fromUs, toUs }, call)) all.record(lateness(call, now))
        return {
          ...{ due: all.count, arrived: latencies.count, again, inTime, soon },
          p50Ms: all.percentile(50) / 1_000,
          p99Ms: all.percentile(99) / 1_000,
        }
      })
    },
  }
}
