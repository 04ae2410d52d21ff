import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBreakers } from '../../../control/activity/health/breakers.ts'
import { createDurations, createMinutes, quantile } from '../../../control/activity/health/minutes.ts'
import { afterPost, afterProbe, HEALTHY, permit } from '../../../delivery/breaker.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import { anAttempt } from '../attempts-in-memory.ts'

describe('durations', () => {
  test('a quantile is accurate to an eighth, or a millisecond', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.99),
        (all, share) => {
          const durations = createDurations()
          for (const ms of all) durations.add(ms)
          const exact = all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? 0
          const found = quantile([durations], share) ?? Number.NaN
          expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact / 8 + 1)
        },
      ),
    )
  })

  test('without durations there is no quantile; several minutes are merged', () => {
    const [one, other] = [createDurations(), createDurations()]
    expect(quantile([one, other], 0.5)).toBeNull()
    one.add(1)
    other.add(1_000)
    other.add(1_000)
    expect(quantile([one, other], 0.5)).toBeGreaterThan(900)
    other.add(-1)
    expect(quantile([other], 0.01)).toBe(0)
  })
})

const MINUTE = 60_000
const now = 100 * MINUTE + 15_000

describe('minutes', () => {
  test('there are sixty, the current one last, each with its counts', () => {
    const minutes = createMinutes()
    minutes.add({ what: 'delivered', at: now, durationMs: 10 }, now)
    minutes.add({ what: 'retry', at: now - MINUTE, durationMs: 100 }, now)
    minutes.add({ what: 'dead', at: now - 59 * MINUTE }, now)
    const all = minutes.all(now)
    expect(all).toHaveLength(60)
    expect(all.at(-1)).toMatchObject({ at: 100 * MINUTE, delivered: 1, retry: 0, p50: 9, p99: 9 })
    expect(all.at(-2)).toMatchObject({ at: 99 * MINUTE, delivered: 0, retry: 1 })
    expect(all[0]).toMatchObject({ at: 41 * MINUTE, dead: 1, p50: null, p99: null })
  })

  test('times older than an hour or in the future do not count, and counts expire after an hour', () => {
    const minutes = createMinutes()
    for (const at of [now - 60 * MINUTE, now + 2 * MINUTE]) minutes.add({ what: 'delivered', at }, now)
    minutes.add({ what: 'delivered', at: now }, now)
    const delivered = (at: number) => minutes.all(at).reduce((sum, each) => sum + each.delivered, 0)
    expect([delivered(now), delivered(now + 60 * MINUTE)]).toEqual([1, 0])
  })

  test('the last 60 s are the current minute and part of the previous one', () => {
    const minutes = createMinutes()
    for (let each = 0; each < 100; each++)
      minutes.add({ what: 'retry', at: now - MINUTE, durationMs: 10 }, now)
    minutes.add({ what: 'retry', at: now, durationMs: 10 }, now)
    expect(minutes.lastMinute(now)).toMatchObject({ retry: 76, delivered: 0, p50: 9 })
    expect(minutes.lastMinute(now + 2 * MINUTE)).toMatchObject({ retry: 0, p50: null })
  })
})

const at = (startedAt: number, fields: Partial<Attempt> = {}) =>
  anAttempt({ startedAt, durationMs: 0, ...fields })
const failed = (startedAt: number) => at(startedAt, { outcome: 'retry', status: 503, code: 'http_5xx' })
const afterDeferral = (startedAt: number, code = 'breaker_open') =>
  at(startedAt, { outcome: 'deferred', status: null, code })
const ORIGIN = 'https://crm.example'

describe('breakers', () => {
  test('the state is unknown before the first attempt and 15 minutes after the last one', () => {
    const { observe, of } = createBreakers()
    expect(of(ORIGIN, 1_000)).toEqual({ state: 'unknown', since: null })
    observe(ORIGIN, at(1_000))
    expect(of(ORIGIN, 1_000)).toEqual({ state: 'closed', since: null })
    expect(of(ORIGIN, 15 * MINUTE + 1_001)).toEqual({ state: 'unknown', since: null })
    expect(of('https://erp.example', 1_000).state).toBe('unknown')
  })

  test('opens at the fifth failure in a row, is half-open when a probe is due, and closes at a response', () => {
    const { observe, of } = createBreakers()
    for (const time of [1, 2, 3, 4]) observe(ORIGIN, failed(time))
    expect(of(ORIGIN, 4).state).toBe('closed')
    observe(ORIGIN, failed(5))
    expect(of(ORIGIN, 6)).toEqual({ state: 'open', since: 5 })
    expect(of(ORIGIN, 1_005).state).toBe('half-open')
    observe(ORIGIN, failed(1_005))
    expect(of(ORIGIN, 1_006)).toEqual({ state: 'open', since: 5 })
    observe(ORIGIN, at(3_005))
    expect(of(ORIGIN, 3_006)).toEqual({ state: 'closed', since: 3_005 })
  })

  test('is open when a deliverer defers with breaker_open, even if its failures were not seen', () => {
    const { observe, of } = createBreakers()
    observe(ORIGIN, afterDeferral(1_000))
    expect(of(ORIGIN, 1_000)).toEqual({ state: 'open', since: 1_000 })
  })

  test('a full queue does not open the breaker', () => {
    const { observe, of } = createBreakers()
    observe(ORIGIN, afterDeferral(1_000, 'queue_full'))
    expect(of(ORIGIN, 1_000).state).toBe('closed')
  })

  test('when deliverers differ, it stays open while one of them defers', () => {
    const { observe, of } = createBreakers()
    observe(ORIGIN, afterDeferral(1_000))
    observe(ORIGIN, at(2_000))
    observe(ORIGIN, afterDeferral(2_500))
    observe(ORIGIN, at(2_600))
    expect(of(ORIGIN, 12_499).state).toBe('open')
    expect(of(ORIGIN, 12_500).state).toBe('closed')
  })

  test('a late attempt changes nothing', () => {
    const { observe, of } = createBreakers()
    for (const time of [1, 2, 3, 4, 5]) observe(ORIGIN, failed(time))
    observe(ORIGIN, at(4))
    expect(of(ORIGIN, 6).state).toBe('open')
  })

  test('is open when the breaker of a deliverer is, whatever its POSTs result in', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            afterMs: fc.integer({ min: 1, max: 4_000 }),
            ended: fc.constantFrom('answered', 'failed', 'timed_out'),
          }),
          { maxLength: 80 },
        ),
        (posts) => {
          const { observe, of } = createBreakers()
          let [breaker, time] = [HEALTHY, 1_000]
          for (const { afterMs, ended } of posts) {
            time += afterMs
            const may = permit(breaker, time)
            if (may === 'nothing') {
              observe(ORIGIN, afterDeferral(time))
              continue
            }
            if (may === 'probe') breaker = afterProbe(breaker, time)
            breaker = afterPost(breaker, ended, time)
            if (ended === 'answered') observe(ORIGIN, at(time))
            else if (ended === 'failed') observe(ORIGIN, failed(time))
            else observe(ORIGIN, at(time, { outcome: 'retry', status: null, code: 'timeout' }))
            expect(of(ORIGIN, time).state).toBe(breaker.open ? 'open' : 'closed')
          }
        },
      ),
    )
  })
})
