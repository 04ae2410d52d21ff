import { bucketOf, Histogram, type Quantiles } from './histogram.ts'

export const MINUTE_MS = 60_000

/** Each ends with the current bucket, which is still being filled. */
export const WINDOWS = {
  '1h': { bucketMs: MINUTE_MS, buckets: 60 },
  '24h': { bucketMs: 30 * MINUTE_MS, buckets: 48 },
} as const
export type Window = keyof typeof WINDOWS

const POSTS = ['delivered', 'rejected', 'retry', 'refused', 'deferred'] as const
const DELIVERIES = ['delivered', 'rejected', 'dead'] as const

/** `deferred` ones were not sent. */
export type Posts = Record<(typeof POSTS)[number], number>

/** A rejected delivery is a dead letter too, but does not count as `dead`. */
export type Deliveries = Record<(typeof DELIVERIES)[number], number>

/** In ms. `latency`: from the accepted call to the delivery; `responseTime`: of POSTs. */
export type Counts = {
  posts: Posts
  deliveries: Deliveries
  latency: Quantiles
  responseTime: Quantiles
}

/** Oldest first, in ms since 1970. */
export function bucketStarts(window: Window, now: number): number[] {
  const { bucketMs, buckets } = WINDOWS[window]
  const current = Math.floor(now / bucketMs)
  return Array.from({ length: buckets }, (_, place) => (current - buckets + 1 + place) * bucketMs)
}

const noPosts = (): Posts => ({ delivered: 0, rejected: 0, retry: 0, refused: 0, deferred: 0 })
const noDeliveries = (): Deliveries => ({ delivered: 0, rejected: 0, dead: 0 })

class Bucket {
  readonly index: number
  readonly posts = noPosts()
  readonly deliveries = noDeliveries()
  latencies: Histogram | undefined
  responseTimes: Histogram | undefined

  constructor(index: number) {
    this.index = index
  }
}

/** A ring: counting costs the same for any number of buckets. */
class Ring {
  readonly #bucketMs: number
  readonly #buckets: (Bucket | undefined)[]

  constructor({ bucketMs, buckets }: (typeof WINDOWS)[Window]) {
    this.#bucketMs = bucketMs
    this.#buckets = new Array(buckets).fill(undefined)
  }

  /** Undefined if the time is before the window. */
  open(at: number, now: number): Bucket | undefined {
    const index = Math.floor(at / this.#bucketMs)
    const current = Math.floor(now / this.#bucketMs)
    const size = this.#buckets.length
    if (index <= current - size) return undefined
    const found = this.#buckets[index % size]
    // a bucket after the current one dates from when the clock was ahead
    if (found && found.index >= index && found.index <= current)
      return found.index === index ? found : undefined
    const made = new Bucket(index)
    this.#buckets[index % size] = made
    return made
  }

  /** Oldest first. Undefined for buckets that start before `since`. */
  all(now: number, since = 0): (Bucket | undefined)[] {
    const size = this.#buckets.length
    const first = Math.floor(now / this.#bucketMs) - size + 1
    const all = new Array<Bucket | undefined>(size)
    for (let place = 0; place < size; place++) {
      const found = this.#buckets[(first + place) % size]
      const isCurrent = found?.index === first + place && found.index * this.#bucketMs >= since
      all[place] = isCurrent ? found : undefined
    }
    return all
  }
}

/** An attempt, the end of a delivery, or both. */
export type Counted = {
  /** ms since 1970 */
  at: number
  post?: keyof Posts | undefined
  delivery?: keyof Deliveries | undefined
  /** Of the POST, unless it was deferred. */
  responseTime?: Timed | undefined
  /** If the time of acceptance is known. */
  latency?: Timed | undefined
}

/** `bucket` is computed once for all series. */
type Timed = { ms: number; bucket: number }

export const timed = (ms: number): Timed => ({ ms, bucket: bucketOf(ms) })

function addTo(bucket: Bucket | undefined, { post, delivery, responseTime, latency }: Counted): void {
  if (!bucket) return
  if (post) bucket.posts[post] += 1
  if (delivery) bucket.deliveries[delivery] += 1
  if (responseTime) bucket.responseTimes = added(bucket.responseTimes, responseTime)
  if (latency) bucket.latencies = added(bucket.latencies, latency)
}

function added(histogram: Histogram | undefined, { ms, bucket }: Timed): Histogram {
  if (!histogram) return new Histogram(ms, bucket)
  histogram.add(ms, bucket)
  return histogram
}

/** Times are ms since 1970. */
export class Series {
  readonly #hour = new Ring(WINDOWS['1h'])
  readonly #day = new Ring(WINDOWS['24h'])

  count(counted: Counted, now: number): void {
    addTo(this.#hour.open(counted.at, now), counted)
    addTo(this.#day.open(counted.at, now), counted)
  }

  /** One for each of `bucketStarts`. */
  buckets(window: Window, now: number): Counts[] {
    return this.#ring(window)
      .all(now)
      .map((bucket) => sumOf([bucket]))
  }

  /** `failed`: POSTs that were not delivered. Cheaper than `buckets`. */
  counts(window: Window, now: number): { delivered: number; failed: number }[] {
    return this.#ring(window)
      .all(now)
      .map((bucket) => {
        if (!bucket) return { delivered: 0, failed: 0 }
        const { retry, rejected, refused } = bucket.posts
        return { delivered: bucket.deliveries.delivered, failed: retry + rejected + refused }
      })
  }

  total(window: Window, { now, since }: { now: number; since: number }): Counts {
    return sumOf(this.#ring(window).all(now, since))
  }

  /** About 60 s: the previous minute counts in part. */
  lastMinute(now: number): Counts {
    const share = 1 - (now % MINUTE_MS) / MINUTE_MS
    return sumOf(this.#hour.all(now).slice(-2), [share, 1])
  }

  #ring(window: Window): Ring {
    return window === '1h' ? this.#hour : this.#day
  }
}

/** @param shares of each bucket to add; all by default. */
function sumOf(buckets: readonly (Bucket | undefined)[], shares: readonly number[] = []): Counts {
  const [posts, deliveries] = [noPosts(), noDeliveries()]
  for (const [place, bucket] of buckets.entries()) {
    if (!bucket) continue
    const share = shares[place] ?? 1
    for (const name of POSTS) posts[name] += bucket.posts[name] * share
    for (const name of DELIVERIES) deliveries[name] += bucket.deliveries[name] * share
  }
  for (const name of POSTS) posts[name] = Math.round(posts[name])
  for (const name of DELIVERIES) deliveries[name] = Math.round(deliveries[name])
  return {
    posts,
    deliveries,
    latency: Histogram.quantiles(buckets.map((bucket) => bucket?.latencies)),
    responseTime: Histogram.quantiles(buckets.map((bucket) => bucket?.responseTimes)),
  }
}

export const NO_SERIES = new Series()
