import { describe, expect, test } from 'vitest'
import type { Facts } from '../../../ingest/call/accept.ts'
import { acceptBatch } from '../../../ingest/call/batch.ts'

/** Design: ingest, "Times on the stored event". */
const RECEIVED = '2026-01-02T03:00:00.000Z'
const facts: Facts = {
  sourceId: 'shop',
  receivedAt: Date.parse(RECEIVED),
  ip: '203.0.113.9',
  newId: () => 'made',
}

/** As they are stored. */
function times(call: object, batch: object = {}) {
  const accepted = acceptBatch(
    { value: { ...batch, batch: [{ type: 'identify', userId: 'u', ...call }] }, bytes: 1_000 },
    facts,
  )
  const event = accepted.ok ? accepted.events[0] : undefined
  if (!event) throw new Error('not accepted')
  const iso = (time: number | null) => (time === null ? null : new Date(time).toISOString())
  const { timestamp, receivedAt, sentAt, originalTimestamp } = event
  return [timestamp, originalTimestamp, sentAt, receivedAt].map(iso)
}

const NOON = '2026-01-02T12:00:00.000Z'
const LATER = '2026-01-02T12:00:10.000Z'
/** Ten seconds before it was received. */
const CORRECTED = '2026-01-02T02:59:50.000Z'

const absent = [undefined, null, 0, 1767323045678, '1767323045678', '', 'yesterday', true, {}, [NOON]]

describe('without a readable timestamp', () => {
  test.each(absent)('(%j) the receive time is used, whatever sentAt is', (timestamp) => {
    expect(times({ timestamp })).toEqual([RECEIVED, null, null, RECEIVED])
    expect(times({ timestamp, sentAt: LATER })).toEqual([RECEIVED, null, LATER, RECEIVED])
  })

  test.each(absent)('and without sentAt (%j) nothing is corrected', (sentAt) => {
    expect(times({ sentAt })).toEqual([RECEIVED, null, null, RECEIVED])
    expect(times({ sentAt, timestamp: NOON })).toEqual([NOON, NOON, null, RECEIVED])
  })
})

describe("both names of the client's time", () => {
  test.each(['timestamp', 'originalTimestamp'])('%s', (name) => {
    expect(times({ [name]: NOON })).toEqual([NOON, NOON, null, RECEIVED])
    expect(times({ [name]: NOON, sentAt: LATER })).toEqual([CORRECTED, NOON, LATER, RECEIVED])
  })

  test('timestamp wins over originalTimestamp, unless it is null', () => {
    expect(times({ timestamp: NOON, originalTimestamp: LATER })[1]).toBe(NOON)
    expect(times({ timestamp: null, originalTimestamp: LATER })[1]).toBe(LATER)
  })

  test("a client's receivedAt is ignored", () => {
    expect(times({ receivedAt: NOON })[3]).toBe(RECEIVED)
  })
})

describe('the same moment in any format gives the same event', () => {
  test.each([
    ['2026-01-02T12:00:00Z'],
    ['2026-01-02T12:00:00.000Z'],
    ['2026-01-02T12:00:00.000999Z'],
    ['2026-01-02T12:00:00.000000000Z'],
    ['2026-01-02T12:00:00.0000000000000000Z'],
    ['2026-01-02T24:00:00+1200'],
    ['2026-01-02T12:00:00+0000'],
    ['2026-01-02T12:00:00-0000'],
    ['2026-01-02T12:00:00+00:00'],
    ['2026-01-02T06:30:00-05:30'],
    ['2026-01-02T06:30:00.000000-0530'],
    ['2026-01-03T02:00:00+14:00'],
    ['2026-01-02T17:45:00+0545'],
    ['2026-01-02T12:00:00'],
    ['2026-01-02 12:00:00'],
    ['2026-01-02 12:00:00 +0000'],
    ['20260102T120000Z'],
  ])('%s', (form) => {
    expect(times({ timestamp: form })).toEqual([NOON, NOON, null, RECEIVED])
    expect(times({ timestamp: LATER, sentAt: form })[2]).toBe(NOON)
  })
})

describe("the client's clock error", () => {
  test.each([
    ['is nine hours ahead', '2026-01-02T12:00:00Z', '2026-01-02T12:00:10Z', '2026-01-02T02:59:50.000Z'],
    ['is a year behind', '2025-01-02T12:00:00Z', '2025-01-02T12:00:10Z', '2026-01-02T02:59:50.000Z'],
    ['is in 1970', '1970-01-01T00:00:00Z', '1970-01-01T00:00:10Z', '2026-01-02T02:59:50.000Z'],
    ['is right', '2026-01-02T02:59:50Z', RECEIVED, '2026-01-02T02:59:50.000Z'],
    ['is set forward in between', '2026-01-02T12:00:10Z', '2026-01-02T12:00:00Z', '2026-01-02T03:00:10.000Z'],
    [
      'has offsets that differ',
      '2026-01-02T13:00:00+0100',
      '2026-01-02T07:00:10-05:00',
      '2026-01-02T02:59:50.000Z',
    ],
  ])('%s', (_what, timestamp, sentAt, expected) => {
    expect(times({ timestamp, sentAt })[0]).toBe(expected)
  })
})

describe('a historical import keeps its times', () => {
  test.each([
    '2009-06-07T08:09:10.000Z',
    '1969-07-20T20:17:40.000Z',
    '0001-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
  ])('%s', (timestamp) => {
    expect(times({ timestamp })).toEqual([timestamp, timestamp, null, RECEIVED])
  })

  test('relative to sentAt, if given', () => {
    expect(times({ timestamp: '2009-06-07T08:09:10.000Z', sentAt: RECEIVED })[0]).toBe(
      '2009-06-07T08:09:10.000Z',
    )
  })
})

describe('a date that does not exist', () => {
  test.each(['2026-02-30T12:00:00Z', '2025-02-29', '2026-04-31T24:00:00Z', '2026-02-30T24:00:00Z'])(
    '%s is invalid',
    (timestamp) => {
      expect(times({ timestamp })).toEqual([RECEIVED, null, null, RECEIVED])
    },
  )
})

describe('outside the years 1 to 9999', () => {
  test.each([
    '10001-01-01T00:00:00Z',
    '+010001-01-01T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    '9999-12-31T23:59:59-0100',
    '0001-01-01T00:00:00+0100',
  ])('%s is invalid', (timestamp) => {
    expect(times({ timestamp })).toEqual([RECEIVED, null, null, RECEIVED])
  })

  test('because of the correction, the receive time is used', () => {
    expect(times({ timestamp: '9999-12-31T00:00:00Z', sentAt: '2020-01-01T00:00:00Z' })).toEqual([
      RECEIVED,
      '9999-12-31T00:00:00.000Z',
      '2020-01-01T00:00:00.000Z',
      RECEIVED,
    ])
  })
})

describe("a batch's sentAt", () => {
  test('applies to calls without a readable one', () => {
    for (const sentAt of absent)
      expect(times({ timestamp: NOON, sentAt }, { sentAt: LATER })).toEqual([
        CORRECTED,
        NOON,
        LATER,
        RECEIVED,
      ])
  })

  test('is overridden by that of a call', () => {
    expect(times({ timestamp: NOON, sentAt: LATER }, { sentAt: NOON })[0]).toBe(CORRECTED)
  })

  test.each(absent)('of %j counts as absent', (sentAt) => {
    expect(times({ timestamp: NOON }, { sentAt })).toEqual([NOON, NOON, null, RECEIVED])
  })
})
