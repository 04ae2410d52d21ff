import { expect, test } from 'vitest'
import { makeOfDead } from '../../../control/tasks/replays/records.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Replay } from '../../../schemas/task.ts'
import { aDeadOne } from '../dead-in-memory.ts'

const replay: Replay = {
  kind: 'replay',
  id: 'r1',
  createdAt: '2026-01-02T00:00:00.000Z',
  state: 'accepted',
  destinationId: 'crm',
  what: 'dead',
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-02T00:00:00.000Z',
  perSecond: 500,
  ranges: [{ partition: 1, from: 10, to: 20 }],
  read: 0,
  replayed: 0,
  parked: 0,
}
const within = Date.parse(replay.from)

type Given = { offset?: number; partition?: number; timestamp?: number; dead?: Partial<Delivery> }

/** What one replay makes of the records, in order. */
function maker(more: Partial<Replay> = {}) {
  const settings = { destinations: new Map(), suppressedUsers: () => new Set(['hidden']) }
  const make = makeOfDead({ ...replay, ...more }, { settings })
  return ({ dead, ...where }: Given = {}) =>
    make({ key: 'crm/u1', partition: 1, offset: 10, timestamp: within, value: aDeadOne(dead), ...where })
}

const make = (more: Partial<Replay>, record?: Given) => maker(more)(record)

test('a dead letter in the time range with the reason becomes a delivery without attempts', () => {
  expect(make({ reason: 'attempts_exhausted' })).toMatchObject({
    key: 'crm/u1',
    delivery: { attempt: 0, history: [], deadReason: null, replay: true },
  })
})

test.each([
  ['of another time', {}, { timestamp: Date.parse(replay.to) }],
  ['that died of something else', { reason: 'refused' }, {}],
  ['of another destination', {}, { dead: { destinationId: 'erp' } }],
])('one %s is passed over', (_, more, record) => {
  expect(make(more, record)).toBeUndefined()
})

test('chosen dead letters are replayed whatever their time, and records between them are not', () => {
  const chosen = {
    places: [
      { partition: 1, offset: 10 },
      { partition: 2, offset: 11 },
    ],
  }
  expect(make(chosen, { timestamp: 0 })).toBeDefined()
  expect(make(chosen, { offset: 11 })).toBeUndefined()
  expect(make(chosen, { partition: 2, offset: 10 })).toBeUndefined()
  expect(make(chosen, { partition: 2, offset: 11 })).toBeDefined()
})

test('a delivery that was given up twice is made once, and again if its record had to wait', () => {
  const makeNext = maker()
  expect(makeNext({ offset: 11 })).toBeDefined()
  expect(makeNext({ offset: 14 })).toBeUndefined()
  expect(makeNext({ offset: 11 })).toBeDefined()
  expect(makeNext({ offset: 15, dead: { deliveryId: 'another' } })).toBeDefined()
})

test('a skipped record does not count as the first', () => {
  const makeNext = maker({ reason: 'refused' })
  expect(makeNext({ offset: 11 })).toBeUndefined()
  expect(makeNext({ offset: 14, dead: { deadReason: 'refused' } })).toBeDefined()
})
