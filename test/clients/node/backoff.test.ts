import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoff, nextTry } from '../../../clients/node/backoff.ts'

const most = (tries: number) => backoff({ tries, baseMs: 100, random: 1 })

test('the wait is at most the base, which doubles with each attempt up to 10 s', () => {
  expect([1, 2, 3, 7, 8, 9, 20].map(most)).toEqual([100, 200, 400, 6_400, 10_000, 10_000, 10_000])
})

test('the waits of 25 retries add up to at most 193 s, as documented', () => {
  const waits = Array.from({ length: 25 }, (_, index) => most(index + 1))
  expect(Math.round(waits.reduce((sum, each) => sum + each) / 1_000)).toBe(193)
})

test('the wait is random from 0 to that', () => {
  expect(backoff({ tries: 3, baseMs: 100, random: 0 })).toBe(0)
  expect(backoff({ tries: 3, baseMs: 100, random: 0.5 })).toBe(200)
})

test('the wait is at least what the service asks for, up to 5 minutes', () => {
  expect(backoff({ tries: 1, baseMs: 100, random: 1, retryAfterMs: 2_000 })).toBe(2_000)
  expect(backoff({ tries: 8, baseMs: 100, random: 1, retryAfterMs: 2_000 })).toBe(10_000)
  expect(backoff({ tries: 1, baseMs: 100, random: 1, retryAfterMs: 86_400_000 })).toBe(300_000)
})

test('for any input, the wait is within its bounds', () => {
  const tried = fc.record({
    tries: fc.integer({ min: 1, max: 10_000 }),
    baseMs: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
    retryAfterMs: fc.option(fc.double({ min: 0, noNaN: true }), { nil: undefined }),
  })
  fc.assert(
    fc.property(tried, (facts) => {
      const delayMs = backoff(facts)
      expect(delayMs).toBeGreaterThanOrEqual(Math.min(facts.retryAfterMs ?? 0, 300_000))
      expect(delayMs).toBeLessThanOrEqual(Math.max(10_000, Math.min(facts.retryAfterMs ?? 0, 300_000)))
    }),
  )
})

describe('after a failed attempt', () => {
  const minutes = (count: number) => count * 60_000
  const facts = { tries: 1, baseMs: 100, random: 1, maxRetries: 25, sinceFirstMs: 0 }

  test('another one follows after the wait', () => {
    expect(nextTry(facts)).toEqual({ next: 'try', waitMs: 100 })
    expect(nextTry({ ...facts, tries: 25 })).toEqual({ next: 'try', waitMs: 10_000 })
  })

  test('none follows after maxRetries', () => {
    expect(nextTry({ ...facts, tries: 26 })).toEqual({ next: 'none', since: 'tries' })
    expect(nextTry({ ...facts, maxRetries: 0 })).toEqual({ next: 'none', since: 'tries' })
  })

  test('none follows that would begin more than 45 minutes after the first', () => {
    const late = { ...facts, retryAfterMs: minutes(5) }
    expect(nextTry({ ...late, sinceFirstMs: minutes(40) })).toEqual({ next: 'try', waitMs: minutes(5) })
    expect(nextTry({ ...late, sinceFirstMs: minutes(40) + 1 })).toEqual({ next: 'none', since: 'time' })
  })
})
