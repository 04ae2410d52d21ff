import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { MAX_RETRY_AFTER_MS, retryAfter } from '../../delivery/outcome.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5)

// local time is not GMT: a date without a zone would be another
beforeAll(() => void vi.stubEnv('TZ', 'America/New_York'))
afterAll(() => void vi.unstubAllEnvs())

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 120 ', 120_000],
  ['Fri, 02 Jan 2026 03:05:05 GMT', 60_000],
  ['Friday, 02-Jan-26 03:05:05 GMT', 60_000],
  ['Fri Jan  2 03:05:05 2026', 60_000],
  ['Fri, 02 Jan 2026 03:00:00 GMT', 0],
  ['86401', MAX_RETRY_AFTER_MS],
  ['9'.repeat(400), MAX_RETRY_AFTER_MS],
  ['Fri, 02 Jan 2099 03:00:00 GMT', MAX_RETRY_AFTER_MS],
])('%s is %d ms', (value, delayMs) => {
  expect(retryAfter(value, now)).toBe(delayMs)
})

test.each([
  '',
  'soon',
  '-5',
  '1.5',
  '5s',
  '0x10',
  '1e3',
  '120, 60',
  '2026-01-02T03:05:05Z',
  'Fri, 02 Jan 2026',
  'Fri, 02 Jan 2026 03:05:05 PST',
  'Fri, 99 Foo 2026 03:05:05 GMT',
])('%j is ignored', (value) => {
  expect(retryAfter(value, now)).toBeUndefined()
})

test('without the header the result is undefined; of several readable values the longest counts', () => {
  expect(retryAfter(undefined, now)).toBeUndefined()
  expect(retryAfter([], now)).toBeUndefined()
  expect(retryAfter(['5', 'soon', '60'], now)).toBe(60_000)
})

test('for any value, the delay is a number from 0 to a day', () => {
  const date = fc.date({ noInvalidDate: true }).map((at) => at.toUTCString())
  fc.assert(
    fc.property(fc.oneof(fc.string(), date, fc.bigInt().map(String)), (value) => {
      const delayMs = retryAfter(value, now)
      if (delayMs === undefined) return
      expect(delayMs).toBeGreaterThanOrEqual(0)
      expect(delayMs).toBeLessThanOrEqual(MAX_RETRY_AFTER_MS)
    }),
  )
})

test('a date and the same number of seconds give the same delay', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 86_400 }), (seconds) => {
      const date = new Date(now + seconds * 1_000).toUTCString()
      expect(retryAfter(date, now)).toBe(retryAfter(String(seconds), now))
    }),
  )
})
