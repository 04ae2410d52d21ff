/** How long POSTs took, to within an eighth, in memory of a fixed size. */
export type Durations = {
  add(ms: number): void
  counts: Uint32Array
}

const RATIO = 1.25
/** The last one is that of a minute and more, the longest that a receiver is waited for. */
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

/**
 * @param share of all, from 0 to 1, that took no longer: 0.5 is the median.
 * @returns ms; null when there are none.
 */
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
