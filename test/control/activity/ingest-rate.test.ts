import { describe, expect, onTestFinished, test } from 'vitest'
import { createRates, followIngestRate } from '../../../control/activity/figures/ingest-rate.ts'
import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { api } from '../api.ts'

const MINUTE = 60_000
const now = 1_000 * MINUTE + 20_000
const total = (calls: number, rejected = 0) => ({ calls, rejected })

describe('rates', () => {
  test('of a minute count its calls from start to end; of the current one, up to now', () => {
    const rates = createRates()
    rates.begin(now - 20_000 - MINUTE, total(100, 5))
    rates.begin(now - 20_000, total(160, 6))
    rates.measure(now - 2_000, total(170, 6))
    rates.measure(now, total(190, 7))
    const { perSecond, rejectedPerSecond, minutes } = rates.of(now)
    expect([perSecond, rejectedPerSecond]).toEqual([10, 0.5])
    expect(minutes).toHaveLength(60)
    expect(minutes.slice(-3)).toEqual([
      { at: now - 20_000 - 2 * MINUTE, ...total(0) },
      { at: now - 20_000 - MINUTE, ...total(60, 1) },
      { at: now - 20_000, ...total(30, 1) },
    ])
  })

  test('of half an hour count its calls, and the current one up to now', () => {
    const rates = createRates()
    const half = 30 * MINUTE
    const current = now - (now % half)
    rates.begin(current - half, total(100, 5))
    rates.begin(current, total(160, 6))
    rates.measure(now, total(190, 7))
    expect(rates.calls('24h', now)).toHaveLength(48)
    expect(rates.calls('24h', now).slice(-2)).toEqual([total(60, 1), total(30, 1)])
  })

  test('of a minute that has just ended count its calls up to the last measurement, until its end is known', () => {
    const rates = createRates()
    rates.begin(now - 20_000, total(160, 6))
    rates.measure(now + 39_000, total(200, 8))
    const later = now + 40_500
    expect(rates.calls('1h', later).slice(-2)).toEqual([total(40, 2), total(0)])
    rates.begin(now + 40_000, total(210, 8))
    rates.measure(later, total(215, 8))
    expect(rates.calls('1h', later).slice(-2)).toEqual([total(50, 2), total(5)])
  })

  test('are asked for once, and again for each minute that passed without an answer from Kafka', () => {
    const rates = createRates()
    for (const at of rates.missing(now)) rates.begin(at, total(0))
    rates.measure(now, total(0))
    expect(rates.missing(now)).toEqual([])
    const later = now + 3 * MINUTE
    expect(rates.missing(later)).toEqual([3, 2, 1].map((ago) => later - 20_000 - (ago - 1) * MINUTE))
  })

  test('of the present cover ten seconds', () => {
    const rates = createRates()
    for (let ago = 30; ago >= 0; ago--) rates.measure(now - ago * 1_000, total(ago > 10 ? 0 : 50))
    expect(rates.of(now).perSecond).toBe(0)
    rates.measure(now + 1_000, total(60))
    expect(rates.of(now).perSecond).toBe(1)
  })

  test('are zero after a topic was recreated', () => {
    const rates = createRates()
    rates.measure(now - 1_000, total(100))
    rates.measure(now, total(0))
    expect(rates.of(now).perSecond).toBe(0)
  })

  test('are unknown after one measurement', () => {
    const rates = createRates()
    expect(rates.of(now)).toMatchObject({ perSecond: 0, rejectedPerSecond: 0 })
    rates.measure(now, total(5))
    expect(rates.of(now).perSecond).toBe(0)
  })
})

describe('incoming calls', () => {
  function followed(offsets: Partial<Offsets>) {
    const failures: unknown[] = []
    let opened = 0
    const ingest = followIngestRate({
      async open() {
        opened += 1
        return {
          bounds: async (topic: string) => [
            { partition: 0, low: 0, end: topic === 'events' ? 70 : 3 },
            { partition: 1, low: 0, end: topic === 'events' ? 30 : 0 },
          ],
          at: async (topic: string) => [{ partition: 0, offset: topic === 'events' ? 60 : 1 }],
          close: async () => {},
          ...offsets,
        } as Offsets
      },
      onFailed: (error) => void failures.push(error),
      everyMs: 5,
      staleMs: 60,
    })
    onTestFinished(() => ingest.close())
    return { ...ingest, failures, opened: () => opened }
  }

  test('start with the last hour from Kafka', async () => {
    const { loaded, isLoaded, latest } = followed({})
    expect([isLoaded(), latest()]).toEqual([false, undefined])
    await loaded
    expect(latest()?.minutes.at(-1)).toMatchObject({ calls: 40, rejected: 2 })
  })

  test('are not reported after a while without an answer from Kafka, until it answers again', async () => {
    let fails = false
    const { loaded, latest, failures, opened } = followed({
      bounds: async () => {
        if (fails) throw new Error('no broker')
        return []
      },
    })
    await loaded
    fails = true
    await expect.poll(latest).toBeUndefined()
    expect(failures.length).toBeGreaterThan(0)
    const before = opened()
    fails = false
    await expect.poll(latest).toBeDefined()
    expect(opened()).toBeGreaterThanOrEqual(before)
  })
})

test('get 503 while Kafka does not answer', async () => {
  expect(await api().ask({ url: '/api/ingest' })).toMatchObject({
    status: 503,
    json: { code: 'unavailable' },
  })
})
