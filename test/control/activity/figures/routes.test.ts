import { afterEach, expect, test, vi } from 'vitest'
import { createFigures } from '../../../../control/activity/figures/figures.ts'
import { bucketStarts } from '../../../../control/activity/figures/series.ts'
import type { AppParts } from '../../../../control/app.ts'
import { api, VIEW } from '../../api.ts'
import { anAttempt, attemptsHeld } from '../../attempts-in-memory.ts'
import { deadHeld } from '../../dead-in-memory.ts'
import { crm } from '../../in-memory.ts'

const now = Date.parse('2026-01-02T03:04:15.000Z')
const MINUTE = 60_000
const loaded = { loaded: Promise.resolve(), isLoaded: () => true, latest: () => undefined }
const ingestRate: AppParts['ingestRate'] = {
  ...loaded,
  calls: (window, at) => bucketStarts(window, at).map(() => ({ calls: 2, rejected: 1 })),
}

afterEach(() => void vi.useRealTimers())

type Bucket = { figures: Record<string, number> | null }

function world({ since = null, ...parts }: { since?: number | null } & Partial<AppParts> = {}) {
  vi.useFakeTimers({ now, toFake: ['Date', 'performance'] })
  const figures = createFigures(Date.now)
  const destinations = [crm, { ...crm, id: 'erp' }]
  const { ask } = api({ destinations }, { ingestRate, figures: { ...figures, since: () => since }, ...parts })
  const get = async (path: string) => (await ask({ url: `/api/${path}`, token: VIEW })).json
  const delivered = (ago: number, destinationId = 'crm') =>
    figures.attempt(
      anAttempt({
        destinationId,
        startedAt: now - ago,
        durationMs: 40,
        acceptedAt: now - ago - 160,
        settles: true,
      }),
    )
  const failed = (ago: number) =>
    figures.attempt(anAttempt({ startedAt: now - ago, outcome: 'retry', status: 503, code: 'http_5xx' }))
  return { get, ask, delivered, failed, figures }
}

test('an hour has sixty minutes, each with calls and deliveries, and totals that are their sums', async () => {
  const { get, delivered, failed, figures } = world()
  delivered(1_000)
  delivered(10 * MINUTE, 'erp')
  failed(2_000)
  delivered(2 * 60 * MINUTE)
  figures.deadLetter({ destinationId: 'crm', time: now, reason: 'rejected' })
  const { buckets, total, destinations, ...window } = await get('activity')
  expect(window).toEqual({
    window: '1h',
    bucketSeconds: 60,
    from: '2026-01-02T02:05:00.000Z',
    until: '2026-01-02T03:04:15.000Z',
    since: null,
  })
  expect(buckets).toHaveLength(60)
  expect(buckets.at(-1)).toEqual({
    at: '2026-01-02T03:04:00.000Z',
    calls: { accepted: 2, rejected: 1 },
    figures: {
      ...{ delivered: 1, rejected: 1, dead: 0, failedAttempts: 1 },
      latency: { p50: 200, p99: 200 },
      responseTime: { p50: expect.any(Number), p99: expect.any(Number) },
    },
  })
  expect(total).toMatchObject({
    calls: { accepted: 120, rejected: 60 },
    ...{ delivered: 2, rejected: 1, dead: 0, failedAttempts: 1 },
  })
  for (const name of ['delivered', 'rejected', 'dead', 'failedAttempts'])
    expect(buckets.reduce((sum: number, each: Bucket) => sum + (each.figures?.[name] ?? 0), 0)).toBe(
      total[name],
    )
  expect(destinations).toMatchObject([
    { destinationId: 'crm', total: { delivered: 1, failedAttempts: 1, rejected: 1 } },
    { destinationId: 'erp', total: { delivered: 1, failedAttempts: 0, rejected: 0 } },
  ])
  expect(destinations[0].sparkline.delivered).toEqual([...Array(59).fill(0), 1])
  expect(destinations[0].sparkline.failed).toEqual([...Array(59).fill(0), 1])
})

test('a day has 48 half hours', async () => {
  const { get, delivered } = world()
  delivered(1_000)
  delivered(2 * 60 * MINUTE)
  const { buckets, total, bucketSeconds } = await get('activity?window=24h')
  expect([buckets.length, bucketSeconds, total.delivered]).toEqual([48, 1_800, 2])
})

test('a destination has the same figures by itself', async () => {
  const { get, delivered, failed } = world()
  delivered(1_000)
  failed(1_000)
  delivered(1_000, 'erp')
  for (const window of ['1h', '24h']) {
    const { destinations, from, until } = await get(`activity?window=${window}`)
    const one = await get(`destinations/crm/activity?window=${window}`)
    expect(one).toMatchObject({ window, from, until, total: destinations[0].total })
    expect(one.buckets.map((each: Bucket) => each.figures?.delivered)).toEqual(
      destinations[0].sparkline.delivered,
    )
  }
})

test('buckets that are not complete have no figures, and do not count', async () => {
  const { get, delivered } = world({ since: now - 5 * MINUTE })
  delivered(6 * MINUTE)
  delivered(MINUTE)
  const { since, buckets, total, destinations } = await get('activity')
  expect(since).toBe('2026-01-02T02:59:15.000Z')
  expect(buckets.findIndex(({ figures }: { figures: unknown }) => figures !== null)).toBe(55)
  expect(buckets[0]).toMatchObject({ calls: { accepted: 2 }, figures: null })
  expect([total.delivered, destinations[0].total.delivered]).toEqual([1, 1])
  expect(destinations[0].sparkline.delivered.slice(53)).toEqual([null, null, 0, 0, 0, 1, 0])
  expect((await get('destinations/crm/activity')).buckets[54].figures).toBeNull()
})

test('what lies before the window does not matter', async () => {
  expect(await world({ since: now - 2 * 60 * MINUTE }).get('activity')).toMatchObject({ since: null })
})

test('another window is refused, and so is an unknown destination', async () => {
  const { ask } = world()
  expect(await ask({ url: '/api/activity?window=7d' })).toMatchObject({
    status: 400,
    json: { code: 'validation_failed' },
  })
  expect(await ask({ url: '/api/destinations/gone/activity' })).toMatchObject({
    status: 404,
    json: { code: 'not_found' },
  })
})

test.each<[string, Partial<AppParts>]>([
  ['attempts', attemptsHeld([], { isFresh: () => false })],
  ['dead letters', deadHeld([], { isFresh: () => false })],
  ['calls', { ingestRate: { ...loaded, calls: () => undefined } }],
])('old figures are not reported as current if Kafka gave no %s for a while', async (_, parts) => {
  const { ask } = world(parts)
  expect(await ask({ url: '/api/activity' })).toMatchObject({ status: 503, json: { code: 'unavailable' } })
})

test('many requests cost as much as one: figures are computed at most every two seconds', async () => {
  const calls = vi.fn(ingestRate.calls)
  const { get } = world({ ingestRate: { ...ingestRate, calls } })
  await Promise.all(Array.from({ length: 20 }, () => get('activity')))
  expect(calls).toHaveBeenCalledTimes(1)
  await get('activity?window=24h')
  expect(calls).toHaveBeenCalledTimes(2)
})
