import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFigures } from '../../../../control/activity/figures/figures.ts'
import { bucketOf, Histogram } from '../../../../control/activity/figures/histogram.ts'
import { bucketStarts, Series, timed } from '../../../../control/activity/figures/series.ts'
import { anAttempt } from '../../attempts-in-memory.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const now = Date.parse('2026-01-02T03:04:15.000Z')
const minute = now - 15_000

function histogramOf(...all: number[]): Histogram | undefined {
  const [first, ...more] = all
  if (first === undefined) return undefined
  const histogram = new Histogram(first, bucketOf(first))
  for (const ms of more) histogram.add(ms, bucketOf(ms))
  return histogram
}

describe('a histogram', () => {
  test('gives quantiles that are accurate to an eighth, or a millisecond, however it is split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4 * HOUR }), { minLength: 1, maxLength: 200 }),
        fc.nat(200),
        (all, split) => {
          const found = Histogram.quantiles([
            histogramOf(...all.slice(0, split)),
            undefined,
            histogramOf(...all.slice(split)),
          ])
          const sorted = all.toSorted((a, b) => a - b)
          for (const [share, value] of [[0.5, found.p50] as const, [0.99, found.p99] as const]) {
            const exact = sorted[Math.ceil(all.length * share) - 1] ?? 0
            expect(Math.abs((value ?? Number.NaN) - exact)).toBeLessThanOrEqual(exact / 8 + 1)
          }
        },
      ),
    )
  })

  test('never gives more than was measured: POSTs that end at a timeout of 5 s have a p50 of 5 s', () => {
    const timeouts = [5_001, 5_002, 5_001, 5_004, 5_001]
    expect(Histogram.quantiles([histogramOf(3, ...timeouts)])).toEqual({ p50: 5_004, p99: 5_004 })
    expect(Histogram.quantiles([histogramOf(5_001)])).toEqual({ p50: 5_001, p99: 5_001 })
  })

  test('without values has no quantiles, and takes values of any size', () => {
    expect(Histogram.quantiles([])).toEqual({ p50: null, p99: null })
    expect(Histogram.quantiles([histogramOf()])).toEqual({ p50: null, p99: null })
    expect(Histogram.quantiles([histogramOf(-5)])).toEqual({ p50: 0, p99: 0 })
    expect(Histogram.quantiles([histogramOf(1, 1e12)]).p99).toBeGreaterThan(12 * HOUR)
  })
})

describe('a series', () => {
  const retry = (series: Series, at: number) =>
    series.count({ at, post: 'retry', responseTime: timed(10) }, now)
  const retries = (series: Series, window: '1h' | '24h', at = now) =>
    series.buckets(window, at).map(({ posts }) => posts.retry)

  test('has sixty minutes and 48 half hours, the current one last', () => {
    expect(bucketStarts('1h', now).slice(-2)).toEqual([minute - MINUTE, minute])
    expect(bucketStarts('24h', now).slice(-1)).toEqual([Date.parse('2026-01-02T03:00:00.000Z')])
    const series = new Series()
    retry(series, now)
    retry(series, minute - 1)
    retry(series, minute - 59 * MINUTE)
    expect(retries(series, '1h')).toEqual([1, ...Array(57).fill(0), 1, 1])
    expect(retries(series, '24h').slice(-3)).toEqual([1, 0, 2])
    expect(series.buckets('1h', now).at(-1)).toMatchObject({ responseTime: { p50: 10, p99: 10 } })
  })

  test('does not count what is older than the window, and forgets what gets older', () => {
    const series = new Series()
    retry(series, minute - HOUR + MINUTE - 1)
    retry(series, now - DAY)
    expect(retries(series, '1h')).toEqual(Array(60).fill(0))
    expect(retries(series, '24h').reduce((sum, each) => sum + each)).toBe(1)
    retry(series, now)
    expect(series.total('1h', { now: now + HOUR, since: 0 }).posts.retry).toBe(0)
    expect(series.total('24h', { now: now + DAY, since: 0 }).posts.retry).toBe(0)
  })

  test('counts at once when a clock that was ahead is set back', () => {
    const series = new Series()
    const count = (time: number) => series.count({ at: time, post: 'retry', responseTime: timed(10) }, time)
    for (let passed = 0; passed < DAY; passed += MINUTE) count(now + 30 * DAY + passed)
    count(now)
    count(now)
    for (const window of ['1h', '24h'] as const)
      expect(series.total(window, { now, since: 0 }).posts.retry).toBe(2)
  })

  test('sums up to exactly what its buckets show, in any order of arrival', () => {
    const times = fc.array(fc.integer({ min: -25 * 60, max: 0 }), { maxLength: 300 })
    fc.assert(
      fc.property(times, (minutesAgo) => {
        const series = new Series()
        for (const ago of minutesAgo) retry(series, now + ago * MINUTE)
        for (const window of ['1h', '24h'] as const) {
          const [first = 0] = bucketStarts(window, now)
          const expected = minutesAgo.filter((ago) => now + ago * MINUTE >= first).length
          expect(series.total(window, { now, since: 0 }).posts.retry).toBe(expected)
          expect(retries(series, window).reduce((sum, each) => sum + each)).toBe(expected)
          expect(series.counts(window, now).reduce((sum, { failed }) => sum + failed, 0)).toBe(expected)
        }
      }),
    )
  })

  test('sums up only complete buckets', () => {
    const series = new Series()
    retry(series, minute - MINUTE)
    retry(series, now)
    expect(series.total('1h', { now, since: minute - 30_000 }).posts.retry).toBe(1)
  })

  test('takes a share of the previous minute for the last 60 s', () => {
    const series = new Series()
    for (let each = 0; each < 100; each++) retry(series, minute - 1)
    retry(series, now)
    expect(series.lastMinute(now)).toMatchObject({ posts: { retry: 76 }, responseTime: { p50: 10 } })
    expect(series.lastMinute(now + 2 * MINUTE).posts.retry).toBe(0)
  })
})

describe('figures', () => {
  const hour = (series: Series) => series.total('1h', { now, since: 0 })
  const posted = (fields: object) => anAttempt({ startedAt: now - 1_000, durationMs: 50, ...fields })

  test('count a delivery once, however many webhooks delivered it', () => {
    const figures = createFigures(() => now)
    figures.attempt(posted({ settles: true, acceptedAt: now - 3_000 }))
    figures.attempt(posted({ settles: false, acceptedAt: now - 3_000, urlIndex: 1 }))
    expect(hour(figures.of('crm'))).toMatchObject({
      posts: { delivered: 2 },
      deliveries: { delivered: 1 },
      latency: { p50: 2_050, p99: 2_050 },
      responseTime: { p50: 50 },
    })
  })

  test('count attempts of version 0.1, which do not say whether they settle a delivery, and have no latency', () => {
    const figures = createFigures(() => now)
    figures.attempt(posted({ settles: null, acceptedAt: null }))
    expect(hour(figures.all)).toMatchObject({ deliveries: { delivered: 1 }, latency: { p50: null } })
  })

  test('count failed attempts, and dead letters by how the delivery ended; cancellations are not attempts', () => {
    const figures = createFigures(() => now)
    for (const outcome of ['retry', 'rejected', 'refused', 'deferred', 'cancelled'] as const)
      figures.attempt(posted({ outcome, status: null, settles: false }))
    for (const reason of ['rejected', 'refused', 'window_expired', 'attempts_exhausted'])
      figures.deadLetter({ destinationId: 'crm', time: now, reason })
    expect(hour(figures.of('crm'))).toMatchObject({
      posts: { delivered: 0, retry: 1, rejected: 1, refused: 1, deferred: 1 },
      deliveries: { delivered: 0, rejected: 1, dead: 3 },
    })
    expect(figures.of('crm').counts('1h', now).at(-1)).toEqual({ delivered: 0, failed: 3 })
  })

  test('of all destinations are their sum', () => {
    const figures = createFigures(() => now)
    for (const destinationId of ['a', 'b', 'b']) figures.attempt(posted({ destinationId }))
    expect([figures.of('a'), figures.of('b'), figures.of('c'), figures.all].map(hour)).toMatchObject(
      [1, 2, 0, 3].map((delivered) => ({ deliveries: { delivered } })),
    )
  })

  test('count a clock that is ahead as now, and one that is behind the ingest’s as no latency', () => {
    const figures = createFigures(() => now)
    figures.attempt(posted({ startedAt: now + HOUR, acceptedAt: now + 2 * HOUR, settles: true }))
    expect(figures.all.buckets('1h', now).at(-1)).toMatchObject({
      deliveries: { delivered: 1 },
      latency: { p50: 0 },
    })
  })

  test('do not drop an active destination for one that is read from the past', () => {
    const figures = createFigures(() => now)
    for (let each = 0; each < 1_000; each++) figures.attempt(posted({ destinationId: `d${each}` }))
    figures.attempt(posted({ destinationId: 'past' }), true)
    expect(hour(figures.of('d0')).deliveries.delivered).toBe(1)
    expect(hour(figures.of('past')).deliveries.delivered).toBe(0)
    expect(hour(figures.all).deliveries.delivered).toBe(1_001)
    figures.attempt(posted({ destinationId: 'new' }))
    expect(hour(figures.of('d0')).deliveries.delivered).toBe(0)
  })

  test('do not drop an active destination for old dead letters, which the topic keeps for two weeks', () => {
    const figures = createFigures(() => now)
    const letter = (destinationId: string, time: number) =>
      figures.deadLetter({ destinationId, time, reason: 'refused' })
    figures.attempt(posted({ destinationId: 'active' }))
    for (let each = 0; each < 1_000; each++) letter(`d${each}`, now - 2 * DAY)
    for (let each = 0; each < 1_000; each++) letter(`e${each}`, now - HOUR)
    expect(hour(figures.of('active')).deliveries.delivered).toBe(1)
  })

  test('keep attempts that are read at the start, even after dead letters of a thousand other destinations', () => {
    const figures = createFigures(() => now)
    for (let each = 0; each < 1_000; each++)
      figures.deadLetter({ destinationId: `d${each}`, time: now - 2 * DAY, reason: 'refused' })
    figures.attempt(posted({ destinationId: 'past' }), true)
    expect(hour(figures.of('past')).deliveries.delivered).toBe(1)
  })
})
