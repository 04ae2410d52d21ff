import { createHistogram } from 'node:perf_hooks'

/** Times in microseconds (clock.ts). */
export type Window = { fromUs: number; toUs: number }

/** What calls are due and when: call n is due n / perSecond after the start, and goes to endpoint n modulo their number. */
export type Schedule = {
  fromUs: number
  perSecond: number
  calls: number
  endpoints: number
  /** The first so many endpoints turn bad; nothing of theirs is in the figures below. */
  bad: number
  windows: readonly Window[]
  /**
   * Arrivals at endpoints before this one are ignored (default: 0). They belong to another load, which numbers its
   * calls by itself.
   */
  countedFrom?: number
}

/** Of the calls to healthy endpoints that were due in a window. */
export type WindowReport = {
  due: number
  /** Arrived by the window's end, but for a moment that those due at its very end are given. */
  inTime: number
  /** Arrived within a second of when they were due. */
  soon: number
  /** From when a call was due to its arrival; what has not arrived counts with the time that it has waited so far. */
  p50Ms: number
  p99Ms: number
}

export type Tally = ReturnType<typeof createTally>

/** For what is due at the very end of a window to arrive. */
export const GRACE_US = 250_000
const SOON_US = 1e6

/** Which calls have arrived, and how late. Histograms, and a byte a call: lists of a long run would weigh on what is measured. */
export function createTally({ fromUs, perSecond, calls, endpoints, bad, windows }: Schedule) {
  const arrived = new Uint8Array(calls)
  const tallies = windows.map((window) => ({ ...window, inTime: 0, soon: 0, latencies: createHistogram() }))
  const dueUs = (call: number) => fromUs + (call * 1e6) / perSecond
  const isBad = (call: number) => call % endpoints < bad
  const within = ({ fromUs, toUs }: Window, call: number) => dueUs(call) >= fromUs && dueUs(call) < toUs
  const lateness = (call: number, now: number) => Math.max(1, Math.round(now - dueUs(call)))

  return {
    arrive(call: number, now: number): void {
      if (isBad(call) || arrived[call] !== 0) return
      arrived[call] = 1
      for (const tally of tallies) {
        if (!within(tally, call)) continue
        const late = lateness(call, now)
        tally.latencies.record(late)
        if (late <= SOON_US) tally.soon += 1
        if (now <= tally.toUs + GRACE_US) tally.inTime += 1
      }
    },

    /** To be called once, at the end. */
    report(now: number): WindowReport[] {
      for (let call = 0; call < calls; call++) {
        if (isBad(call) || arrived[call] !== 0) continue
        for (const tally of tallies) if (within(tally, call)) tally.latencies.record(lateness(call, now))
      }
      return tallies.map(({ inTime, soon, latencies }) => ({
        due: latencies.count,
        inTime,
        soon,
        p50Ms: latencies.percentile(50) / 1_000,
        p99Ms: latencies.percentile(99) / 1_000,
      }))
    },
  }
}
