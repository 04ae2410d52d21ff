import { describe, expect, test } from 'vitest'
import { eventTimes, parseTime } from '../../../ingest/call/time.ts'

const at = (text: string) => Date.parse(text)

describe('any form of ISO 8601 is read', () => {
  test.each([
    ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-31T03:04:05.678Z', '2026-01-31T03:04:05.678Z'],
    ['2026-01-02T03:04:05.678901Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05.678901234+0000', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05+0530', '2026-01-01T21:34:05.000Z'],
    ['2026-01-02T03:04:05-08:00', '2026-01-02T11:04:05.000Z'],
    ['2026-01-02T03:04:05+01', '2026-01-02T02:04:05.000Z'],
    ['2026-01-02T03:04:05,6z', '2026-01-02T03:04:05.600Z'],
    ['2026-01-02 03:04:05', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
    ['20260102T030405Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02', '2026-01-02T00:00:00.000Z'],
    ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, expected) => {
    expect(new Date(parseTime(text) ?? Number.NaN).toISOString()).toBe(expected)
  })
})

describe('anything else is invalid', () => {
  test.each([
    1767323045678,
    '1767323045678',
    '1767323045',
    'yesterday',
    '',
    'Fri, 02 Jan 2026 03:04:05 GMT',
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-02T25:00:00Z',
    '2026-01-02T03:04:60Z',
    '2026-01-02T03:04:05+99:00',
    '9999-12-31T23:59:59-10:00',
    ' 2026-01-02T03:04:05Z',
    null,
    undefined,
    {},
    ['2026-01-02'],
  ])('%j', (value) => {
    expect(parseTime(value)).toBeNull()
  })
})

describe('the timestamp of an event', () => {
  const receivedAt = at('2026-01-02T03:00:10.000Z')
  const times = (sentAt: string | null, original: string | null) =>
    eventTimes({
      receivedAt,
      sentAt: sentAt === null ? null : at(sentAt),
      originalTimestamp: original === null ? null : at(original),
    })

  test("is the client's, corrected by its clock error", () => {
    // an hour ahead: it happened 10 s before it was sent
    expect(times('2026-01-02T04:00:10Z', '2026-01-02T04:00:00Z').timestamp).toBe(at('2026-01-02T03:00:00Z'))
  })

  test("is the client's unchanged without sentAt", () => {
    expect(times(null, '2019-05-06T07:08:09Z').timestamp).toBe(at('2019-05-06T07:08:09Z'))
  })

  test("is the receive time without the client's", () => {
    expect(times('2026-01-02T04:00:10Z', null).timestamp).toBe(receivedAt)
    expect(times(null, null).timestamp).toBe(receivedAt)
  })

  test('is the receive time when the correction leaves the years 1 to 9999', () => {
    expect(times('0001-01-01T00:00:00Z', '9999-01-01T00:00:00Z')).toMatchObject({
      timestamp: receivedAt,
      originalTimestamp: at('9999-01-01T00:00:00Z'),
    })
    expect(times('9999-01-01T00:00:00Z', '0001-01-01T00:00:00Z').timestamp).toBe(receivedAt)
  })
})
