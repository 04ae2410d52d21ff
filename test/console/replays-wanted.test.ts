import { expect, test } from 'vitest'
import type { DeadLetter } from '../../console/src/api/dead-letters.ts'
import { filterIn } from '../../console/src/views/dead-letters/filter.ts'
import { newReplayId, ofFilter, ofLetters, possible } from '../../console/src/views/replays/requests.ts'
import { replayShape } from '../../control/tasks/replays/decide.ts'

const letter = (deliveryId: string, destinationId = 'crm'): DeadLetter => ({
  deliveryId,
  messageId: 'm1',
  destinationId,
  reason: 'refused',
  deadAt: '2026-01-02T03:04:05.000Z',
  attempts: [],
  body: '{}',
  afterwards: null,
})

const counted = (destinationId: string, reason: string) => ({ destinationId, reason, count: 1 })
const there = {
  counts: [counted('crm', 'refused'), counted('billing', 'refused'), counted('erp', 'window_expired')],
  isPartial: false,
  destinations: [
    { id: 'crm', enabled: true },
    { id: 'billing', enabled: false },
    { id: 'mail', enabled: true },
  ],
  letters: [letter('d1')],
  now: Date.parse('2026-01-02T12:00:00.000Z'),
}

test('a selection is one replay for each destination, which the API takes', () => {
  const wanted = ofLetters([letter('d1'), letter('d2', 'billing'), letter('d3')])
  expect(wanted).toEqual([
    { destinationId: 'crm', what: 'dead', deliveryIds: ['d1', 'd3'] },
    { destinationId: 'billing', what: 'dead', deliveryIds: ['d2'] },
  ])
  for (const each of wanted) expect(replayShape.safeParse({ ...each, id: newReplayId() }).success).toBe(true)
})

test('more than a thousand go in several', () => {
  const wanted = ofLetters(Array.from({ length: 1_001 }, (_, index) => letter(`d${index}`)))
  expect(wanted.map(({ deliveryIds }) => deliveryIds?.length)).toEqual([1_000, 1])
})

test('all of a filter is asked for by the filter, not by what is on the page', () => {
  const filter = filterIn(new URLSearchParams('destinationId=crm&reason=refused&hours=24&since=1'))
  const wanted = ofFilter(filter, there)
  expect(wanted).toEqual([
    { destinationId: 'crm', what: 'dead', reason: 'refused', from: '2026-01-01T12:00:00.000Z' },
  ])
  expect(replayShape.safeParse(wanted[0]).success).toBe(true)
})

test('of every destination that is counted, whatever is on the page; of all where not all are counted', () => {
  const idsOf = (...asked: Parameters<typeof ofFilter>) =>
    ofFilter(...asked).map(({ destinationId }) => destinationId)
  expect(idsOf({}, there)).toEqual(['crm', 'billing', 'erp'])
  expect(idsOf({ reason: 'refused' }, there)).toEqual(['crm', 'billing'])
  expect(idsOf({}, { ...there, isPartial: true })).toEqual(['crm', 'billing', 'erp', 'mail'])
})

test('of one message its own letters alone are replayed', () => {
  expect(ofFilter({ messageId: 'm1' }, there)).toEqual([
    { destinationId: 'crm', what: 'dead', deliveryIds: ['d1'] },
  ])
})

test('a destination that is off or gone is left out, and named', () => {
  const { wanted, leftOut } = possible(ofFilter({}, there), there.destinations)
  expect(wanted.map(({ destinationId }) => destinationId)).toEqual(['crm'])
  expect(leftOut).toEqual([
    { destinationId: 'billing', why: 'off' },
    { destinationId: 'erp', why: 'gone' },
  ])
  // which there are is not known so far: the API refuses what cannot be
  expect(possible(ofFilter({}, there), undefined).wanted).toHaveLength(3)
})

test('what no filter has is passed over in an address', () => {
  expect(filterIn(new URLSearchParams('reason=bad&hours=5&messageId=&since=2026'))).toEqual({})
})
