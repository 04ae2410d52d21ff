const COUNTED = ['delivered', 'rejected', 'retry', 'refused', 'deferred', 'dead'] as const
export type Counted = (typeof COUNTED)[number]

/** `p50`, `p99`: durations in ms; null if there were none. */
export type Figures = Record<Counted, number> & { p50: number | null; p99: number | null }

/** Times are ms since 1970. */
export type Minutes = {
  /** Ignores times outside the last hour. */
  add(counted: { what: Counted; at: number; durationMs?: number | undefined }, now: number): void
  /** Sixty minutes, the current one last; `at` is when each starts. */
  all(now: number): (Figures & { at: number })[]
  /** About the last 60 s: the previous minute counts in part. */
  lastMinute(now: number): Figures
}

const MINUTE = 60_000
const KEPT = 60

type Minute = { counts: Record<Counted, number>; durations: Durations | undefined }

export function createMinutes(): Minutes {
  const minutes = new Map<number, Minute>()

  function minuteOf(index: number, now: number): Minute {
    const found = minutes.get(index)
    if (found) return found
    for (const old of minutes.keys()) if (old <= indexOf(now) - KEPT) minutes.delete(old)
    const made: Minute = { counts: none(), durations: undefined }
    minutes.set(index, made)
    return made
  }

  return {
    add({ what, at, durationMs }, now) {
      const index = indexOf(at)
      // clocks differ a little between machines
      if (index <= indexOf(now) - KEPT || index > indexOf(now) + 1) return
      const minute = minuteOf(index, now)
      minute.counts[what] += 1
      if (durationMs === undefined) return
      minute.durations ??= createDurations()
      minute.durations.add(durationMs)
    },

    all(now) {
      return Array.from({ length: KEPT }, (_, at) => {
        const index = indexOf(now) - KEPT + 1 + at
        const { counts = none(), durations } = minutes.get(index) ?? {}
        return { at: index * MINUTE, ...counts, ...quantiles(durations ? [durations] : []) }
      })
    },

    lastMinute(now) {
      const index = indexOf(now)
      const [before, current, next] = [-1, 0, 1].map((away) => minutes.get(index + away))
      const share = 1 - (now - index * MINUTE) / MINUTE
      const counts = none()
      for (const what of COUNTED)
        counts[what] = Math.round(
          (before?.counts[what] ?? 0) * share + (current?.counts[what] ?? 0) + (next?.counts[what] ?? 0),
        )
      return { ...counts, ...quantiles([before, current, next].flatMap((each) => each?.durations ?? [])) }
    },
  }
}

const indexOf = (time: number) => Math.floor(time / MINUTE)
const none = (): Record<Counted, number> => ({
  delivered: 0,
  rejected: 0,
  retry: 0,
  refused: 0,
  deferred: 0,
  dead: 0,
})
const quantiles = (durations: readonly Durations[]) => ({
  p50: quantile(durations, 0.5),
  p99: quantile(durations, 0.99),
})

/** A histogram of durations in fixed memory, accurate to an eighth. */
export type Durations = {
  add(ms: number): void
  counts: Uint32Array
}

const RATIO = 1.25
/** The last bucket holds a minute and more, the longest timeout of a receiver. */
const BUCKETS = 50

export function createDurations(): Durations {
  const counts = new Uint32Array(BUCKETS)
  return {
    counts,
    add(ms) {
      const bucket = Math.min(BUCKETS - 1, Math.floor(Math.log(Math.max(0, ms) + 1) / Math.log(RATIO)))
      counts[bucket] = (counts[bucket] ?? 0) + 1
    },
  }
}

/** @param share from 0 to 1: 0.5 is the median. @returns ms; null if there are none. */
export function quantile(all: readonly Pick<Durations, 'counts'>[], share: number): number | null {
  const sums = Array.from({ length: BUCKETS }, (_, bucket) =>
    all.reduce((sum, { counts }) => sum + (counts[bucket] ?? 0), 0),
  )
  const total = sums.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(total * share))
  let seen = 0
  const bucket = sums.findIndex((count) => {
    seen += count
    return seen >= rank
  })
  return Math.round(RATIO ** (bucket + 0.5) - 1)
}
