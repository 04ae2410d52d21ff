import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBreakers } from '../../../control/activity/health/breakers.ts'
import { afterPost, afterProbe, HEALTHY, permit } from '../../../delivery/breaker.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import { anAttempt } from '../attempts-in-memory.ts'

const MINUTE = 60_000

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
