import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isIsoTime } from '../../../clients/node/timestamp.ts'
import { parseTime } from '../../../ingest/call/time.ts'

test('every Date of the years 1 to 9999 is a time', () => {
  const dates = fc.date({
    min: new Date('0001-01-01T00:00Z'),
    max: new Date('9999-12-31T23:59Z'),
    noInvalidDate: true,
  })
  fc.assert(fc.property(dates, (date) => isIsoTime(date.toISOString())))
})

test.each([
  ['2026-01-02T24:00:00Z', true],
  ['2026-01-02T24:00:00.0009Z', true],
  ['2026-01-02T24:00:00.001Z', false],
  ['2026-01-02T24:00:00.5Z', false],
  ['2026-01-02T24:01:00Z', false],
  ['9999-12-31T23:59:59.9999Z', true],
  ['9999-12-31T23:59:59+00:01', true],
  ['9999-12-31T23:59:59-00:01', false],
  ['9999-12-31T24:00:00Z', false],
  ['9999-12-31T24:00:00+00:01', true],
  ['0001-01-01', true],
  ['0000-12-31', false],
  ['0000-12-31T23:59:59.999Z', false],
  ['0001-01-01T00:00:00-00:01', true],
  ['0001-01-01T00:00:00+00:01', false],
])('at the end of a day and of the years, %s is a time: %s', (text, isTime) => {
  expect(isIsoTime(text)).toBe(isTime)
  expect(parseTime(text) !== null).toBe(isTime)
})

test('what ingest reads as a time is one, and nothing else', () => {
  const two = (most: number) => fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(2, '0'))
  const parts = fc.tuple(
    fc.oneof(fc.integer({ min: 1900, max: 2100 }).map(String), fc.constantFrom('0000', '0001', '9999')),
    fc.constantFrom('-', ''),
    two(14),
    two(33),
    fc.constantFrom('T', 't', ' ', '_'),
    two(26),
    fc.constantFrom(':', ''),
    two(61),
    two(62),
    fc.constantFrom('', '.5', ',678901', '.0009', '.'),
    fc.constantFrom('', 'Z', 'z', '+02', ' -0530', '+02:00', '+25:00', '-01:60', 'CET'),
  )
  const texts = parts.map(
    ([year, dash, month, day, t, hour, colon, minute, second, decimals, offset]) =>
      `${year}${dash}${month}${dash}${day}${t}${hour}${colon}${minute}${colon}${second}${decimals}${offset}`,
  )
  const either = fc.oneof(
    texts,
    texts.map((text) => text.slice(0, 10)),
    fc.string(),
  )
  fc.assert(
    fc.property(either, (text) => isIsoTime(text) === (parseTime(text) !== null)),
    { numRuns: 5_000 },
  )
})
