/** Each bucket is a quarter wider than the last. */
const RATIO = 1.25
/** The last bucket holds 12.6 hours and more. */
const BUCKETS = 80
const LOG_RATIO = Math.log(RATIO)

export type Quantiles = { p50: number | null; p99: number | null }

/** Compute it once if several histograms count the time (in ms). */
export const bucketOf = (ms: number): number =>
  Math.min(BUCKETS - 1, Math.floor(Math.log(Math.max(0, ms) + 1) / LOG_RATIO))

/** The array grows by this many buckets. */
const STEP = 4

/** Counts times. Only buckets between the smallest and the largest value take space. */
export class Histogram {
  /** The first bucket that has space. */
  #from: number
  #counts: number[]
  #min: number
  #max: number

  /** @param bucket `bucketOf(ms)` */
  constructor(ms: number, bucket: number) {
    this.#from = bucket - (bucket % STEP)
    this.#counts = zeros(STEP)
    this.#min = ms
    this.#max = ms
    this.add(ms, bucket)
  }

  add(ms: number, bucket: number): void {
    let place = bucket - this.#from
    if (place < 0 || place >= this.#counts.length) place = this.#grow(bucket)
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
    if (ms < this.#min) this.#min = ms
    if (ms > this.#max) this.#max = ms
  }

  #grow(bucket: number): number {
    const from = Math.min(this.#from, bucket - (bucket % STEP))
    const to = Math.max(this.#from + this.#counts.length, bucket - (bucket % STEP) + STEP)
    const counts = zeros(to - from)
    for (let place = 0; place < this.#counts.length; place++)
      counts[this.#from - from + place] = this.#counts[place] ?? 0
    this.#from = from
    this.#counts = counts
    return bucket - from
  }

  /**
   * Of all the histograms together, in ms; null without values. Accurate to an eighth, and within the measured
   * range.
   */
  static quantiles(all: readonly (Histogram | undefined)[]): Quantiles {
    const sums = zeros(BUCKETS)
    let [total, min, max] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (const histogram of all) {
      if (!histogram) continue
      const counts = histogram.#counts
      // an iterator takes several times as long
      for (let place = 0; place < counts.length; place++) {
        const count = counts[place] ?? 0
        const bucket = histogram.#from + place
        sums[bucket] = (sums[bucket] ?? 0) + count
        total += count
      }
      min = Math.min(min, histogram.#min)
      max = Math.max(max, histogram.#max)
    }
    if (total === 0) return { p50: null, p99: null }
    // otherwise POSTs that time out after 5 s would show as 5.4 s, the middle of their bucket
    const at = (share: number) =>
      Math.max(0, Math.round(Math.min(max, Math.max(min, middleOf(bucketAt(sums, total * share))))))
    return { p50: at(0.5), p99: at(0.99) }
  }
}

/** Exactly this length: arrays that grow reserve more. */
const zeros = (length: number): number[] => new Array<number>(length).fill(0)

const middleOf = (bucket: number) => RATIO ** (bucket + 0.5) - 1

function bucketAt(sums: readonly number[], count: number): number {
  const rank = Math.max(1, Math.ceil(count))
  let seen = 0
  return sums.findIndex((inBucket) => {
    seen += inBucket
    return seen >= rank
  })
}
