import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../deliverer/classify.ts'
import { next, type Posted } from '../../deliverer/ladder.ts'
import { aDelivery } from '../helpers/events.ts'

const MINUTE = 60_000
const rungs = [5, 30, 120, 300, 900, 1_800, 3_600, 3_600, 3_600].map((seconds) => ({
  name: `${seconds}s`,
  delayMs: seconds * 1_000,
}))
const ladder = { ladder: rungs, windowMs: 240 * MINUTE }
const now = 1_700_000_000_000

const delivered: Outcome = { outcome: 'delivered', status: 200 }
const failed: Outcome = { outcome: 'retry', code: 'http_5xx', status: 503 }
const refused: Outcome = { outcome: 'refused', code: 'tls_self_signed' }
const posted = (outcome: Outcome, urlIndex = 0): Posted => ({
  urlIndex,
  url: `http://r${urlIndex}.example/`,
  startedAt: now - 100,
  durationMs: 100,
  outcome,
  response: null,
})

describe('after a round', () => {
  test('any delivered URL settles the delivery', () => {
    expect(
      next(aDelivery(), [posted(failed), posted(delivered, 1), posted(refused, 2)], now, ladder),
    ).toEqual({ kind: 'done' })
  })

  test('a first failure goes to the first rung, and the window begins with that attempt', () => {
    const result = next(aDelivery(), [posted(failed)], now, ladder)
    expect(result).toMatchObject({
      kind: 'retry',
      rung: rungs[0],
      dueAt: now + 5_000,
      delivery: { attempt: 1, firstAttemptAt: now - 100 },
    })
  })

  test('URLs that refused for good are remembered, the others are tried again', () => {
    const result = next(aDelivery(), [posted(failed), posted(refused, 1)], now, ladder)
    expect(result).toMatchObject({ kind: 'retry', delivery: { refusedUrls: ['http://r1.example/'] } })
  })

  test('all refused is dead at once', () => {
    const result = next(aDelivery(), [posted(refused), posted(refused, 1)], now, ladder)
    expect(result).toMatchObject({
      kind: 'dead',
      reason: 'refused',
      delivery: { deadReason: 'refused', deadAt: now, attempt: 1 },
    })
  })

  test('a failure behind the last rung is dead, with every POST in its history', () => {
    const old = aDelivery({ attempt: 9, firstAttemptAt: now - MINUTE })
    const result = next(old, [posted(failed)], now, ladder)
    expect(result).toMatchObject({ kind: 'dead', reason: 'attempts_exhausted' })
    expect(result.kind === 'dead' && result.delivery.history).toEqual([
      {
        attempt: 10,
        urlIndex: 0,
        startedAt: now - 100,
        durationMs: 100,
        outcome: 'retry',
        status: 503,
        code: 'http_5xx',
      },
    ])
  })

  test('an attempt that would start after the window is not scheduled', () => {
    const late = (firstAttemptAt: number) =>
      next(aDelivery({ attempt: 3, firstAttemptAt }), [posted(failed)], now, ladder)
    expect(late(now + 300_000 - 240 * MINUTE).kind).toBe('retry')
    expect(late(now + 300_000 - 240 * MINUTE - 1)).toMatchObject({ kind: 'dead', reason: 'window_expired' })
  })
})

test('a delivery that always fails is attempted ten times within 3 h 52 m 35 s of the standard ladder', () => {
  let delivery = aDelivery()
  let at = now
  for (let attempts = 1; ; attempts++) {
    const result = next(delivery, [{ ...posted(failed), startedAt: at }], at, ladder)
    if (result.kind !== 'retry') {
      expect(result).toMatchObject({ kind: 'dead', reason: 'attempts_exhausted' })
      expect([attempts, at - now]).toEqual([10, ((3 * 60 + 52) * 60 + 35) * 1_000])
      return
    }
    delivery = result.delivery
    at = result.dueAt
  }
})

test('every delivery ends: after any outcomes it is done, dead, or one attempt further up', () => {
  const outcomes = fc.array(fc.constantFrom(delivered, failed, refused), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(fc.array(outcomes, { minLength: 11, maxLength: 11 }), (rounds) => {
      let delivery = aDelivery()
      const end = rounds.findIndex((round) => {
        const result = next(
          delivery,
          round.map((outcome, index) => posted(outcome, index)),
          now,
          ladder,
        )
        if (result.kind === 'retry') delivery = result.delivery
        return result.kind !== 'retry'
      })
      expect(end).toBeGreaterThanOrEqual(0)
      expect(end).toBeLessThan(10)
    }),
  )
})
