import { expect, test } from 'vitest'
import { makeOfDead } from '../../control/replays/make.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Replay } from '../../schemas/task.ts'
import { aDeadOne } from './dead-in-memory.ts'

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

function make(
  more: Partial<Replay>,
  record: { offset?: number; partition?: number; timestamp?: number; dead?: Partial<Delivery> } = {},
) {
  const settings = { destinations: new Map(), suppressedUsers: () => new Set(['hidden']) }
  const { dead, ...where } = record
  return makeOfDead(
    { ...replay, ...more },
    { settings },
  )({ key: 'crm/u1', partition: 1, offset: 10, timestamp: within, value: aDeadOne(dead), ...where })
}

test('a dead letter of the time and the reason is made a delivery that was never tried', () => {
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

test('of those that are chosen it is made whenever they died, and of what lies between them nothing', () => {
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
