import type { Call } from '../../harness/open-load.ts'
import { type Answered, pair } from '../account.ts'

/** A POST with its arrival time (ms of `performance.now()`). */
export type Arrival = Answered & { at: number }

/** A part of the run. Times in ms of `performance.now()`. */
export type Phase = { name: string; from: number; to: number }

/** Times in ms of the calls made in a phase. */
export type Pauses = {
  calls: number
  /** From a call to its acceptance. */
  accept: Spread
  /** From acceptance to the first arrival at each destination. */
  deliver: Spread
  /** Longest time in the phase without any POST. */
  gap: number
  /** POSTs beyond the first of a delivery. */
  again: number
}

export type Spread = { p50: number; p99: number; p999: number; max: number }

/** @param destinations of each call. A POST that has not arrived counts as infinitely late. */
export function pausesIn(
  { from, to }: Phase,
  of: { calls: readonly Call[]; arrivals: readonly Arrival[]; destinations: readonly string[] },
): Pauses {
  const first = new Map<string, number>()
  const times = new Map<string, number>()
  for (const arrival of of.arrivals) {
    const key = pair(arrival)
    if (!first.has(key)) first.set(key, arrival.at)
    times.set(key, (times.get(key) ?? 0) + 1)
  }
  const calls = of.calls.filter(({ madeAt }) => madeAt >= from && madeAt < to)
  const deliveries = calls.flatMap(({ messageId, acceptedAt }) =>
    of.destinations.map((destinationId) => ({ key: pair({ destinationId, messageId }), acceptedAt })),
  )
  const deliver = deliveries.map(({ key, acceptedAt }) => {
    const at = first.get(key)
    // the POST may arrive before the client has read its answer
    return at === undefined || acceptedAt === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(0, at - acceptedAt)
  })
  return {
    calls: calls.length,
    accept: spreadOf(calls.map(({ madeAt, acceptedAt = Number.POSITIVE_INFINITY }) => acceptedAt - madeAt)),
    deliver: spreadOf(deliver),
    gap: longestGap(of.arrivals, { from, to }),
    again: deliveries.reduce((sum, { key }) => sum + Math.max(0, (times.get(key) ?? 0) - 1), 0),
  }
}

function longestGap(arrivals: readonly Arrival[], { from, to }: Omit<Phase, 'name'>): number {
  const inside = arrivals.map(({ at }) => at).filter((at) => at >= from && at < to)
  let last = from
  let longest = 0
  for (const at of [...inside, to]) {
    longest = Math.max(longest, at - last)
    last = at
  }
  return longest
}

/** By nearest rank. Zeros for an empty list. */
export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: sorted.at(-1) ?? 0 }
}
