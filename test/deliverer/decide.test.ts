import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideUnsent, defer } from '../../deliverer/decide.ts'
import { aDelivery } from '../helpers/events.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const rungs = [5, 30, 120, 300, 900, 1_800, 3_600, 3_600, 3_600].map((seconds) => ({
  name: `${seconds}s`,
  delayMs: seconds * SECOND,
}))
const ladder = { ladder: rungs, windowMs: 4 * HOUR }
const now = 1_700_000_000_000

describe('a deferral', () => {
  test('is not an attempt, and starts the window', () => {
    expect(defer(aDelivery(), { waitMs: 0, now }, ladder)).toMatchObject({
      kind: 'defer',
      rung: rungs[0],
      dueAt: now + 5 * SECOND,
      delivery: { attempt: 0, deferrals: 1, firstAttemptAt: now, history: [] },
    })
  })

  test('uses the next longer rung each time in a row, up to the advised wait', () => {
    const names = [0, 1, 2, 3, 4, 5, 6].map((deferrals) => {
      const next = defer(aDelivery({ deferrals, firstAttemptAt: now }), { waitMs: 10 * HOUR, now }, ladder)
      return next.kind === 'defer' && next.rung.name
    })
    expect(names).toEqual(['5s', '30s', '120s', '300s', '900s', '1800s', '3600s'])
  })

  test('never waits longer than advised, except for the shortest rung', () => {
    const deferred = aDelivery({ deferrals: 6, firstAttemptAt: now })
    const rungAfter = (waitMs: number) => {
      const next = defer(deferred, { waitMs, now }, ladder)
      return next.kind === 'defer' && next.rung
    }
    expect([100 * SECOND, 30 * SECOND, 1].map(rungAfter)).toEqual([rungs[1], rungs[1], rungs[0]])
  })

  test('starts with the shortest rung after holds before the first attempt, however many', () => {
    const held = aDelivery({ deferrals: 50, firstAttemptAt: null })
    expect(defer(held, { waitMs: HOUR, now }, ladder)).toMatchObject({
      rung: rungs[0],
      delivery: { deferrals: 51, firstAttemptAt: now },
    })
  })

  test('uses a shorter rung to stay within the window', () => {
    const firstAttemptAt = now - 4 * HOUR + 40 * SECOND
    expect(defer(aDelivery({ deferrals: 6, firstAttemptAt }), { waitMs: HOUR, now }, ladder)).toMatchObject({
      rung: rungs[1],
    })
  })

  test('is dead when no rung ends within the window, with or without attempts', () => {
    const firstAttemptAt = now - 4 * HOUR + SECOND
    expect(defer(aDelivery({ firstAttemptAt }), { waitMs: HOUR, now }, ladder)).toMatchObject({
      kind: 'dead',
      reason: 'window_expired',
      delivery: { deadReason: 'window_expired', deadAt: now },
    })
  })

  test('of a delivery attempted under a slow clock before it was routed is within its window', () => {
    const tooEarly = { firstAttemptAt: now - 96 * HOUR, routedAt: now - HOUR }
    expect(defer(aDelivery(tooEarly), { waitMs: HOUR, now }, ladder)).toMatchObject({
      kind: 'defer',
      rung: rungs[0],
    })
    const over = { ...tooEarly, routedAt: now - 4 * HOUR }
    expect(defer(aDelivery(over), { waitMs: HOUR, now }, ladder)).toMatchObject({ reason: 'window_expired' })
  })

  test('only the window ends deferrals: with any advice a delivery is dead only after it, and due again until then', () => {
    const waits = fc.array(fc.nat(8 * HOUR), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(waits, (advice) => {
        let delivery = aDelivery()
        let at = now
        for (let turn = 0; ; turn++) {
          const next = defer(delivery, { waitMs: advice[turn % advice.length] ?? 0, now: at }, ladder)
          if (next.kind !== 'defer') {
            expect(next.kind).toBe('dead')
            expect(at + 5 * SECOND).toBeGreaterThan(now + ladder.windowMs)
            return
          }
          expect(next.dueAt).toBeLessThanOrEqual(now + ladder.windowMs)
          expect(next.dueAt).toBeGreaterThan(at)
          delivery = next.delivery
          at = next.dueAt
        }
      }),
    )
  })
})

test('a hold lasts at most a quarter of the pause so far, or the shortest rung if that is longer', () => {
  const hold = (pausedMs: number) => {
    const prepared = { kind: 'paused', since: now - pausedMs } as const
    return decideUnsent(aDelivery({ deferrals: 6, firstAttemptAt: now }), { prepared, now }, ladder)
  }
  const delays = [0, 119, 120, 1_199, 1_200, 4 * 3_600, 96 * 3_600].map((seconds) => {
    const next = hold(seconds * SECOND)
    return next.kind === 'defer' && next.rung.name
  })
  expect(delays).toEqual(['5s', '5s', '30s', '120s', '300s', '3600s', '3600s'])
})
