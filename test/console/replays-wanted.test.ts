import { expect, test } from 'vitest'
import type { DeadLetter } from '../../console/src/api/dead.ts'
import { ofFilter, ofLetters } from '../../console/src/views/dead/wanted.ts'
import { replayShape } from '../../control/replays/decide.ts'

const letter = (deliveryId: string, destinationId = 'crm'): DeadLetter => ({
  deliveryId,
  messageId: 'm1',
  destinationId,
  reason: 'refused',
  deadAt: '2026-01-02T03:04:05.000Z',
  attempts: [],
  body: '{}',
})

test('a selection is one replay for each destination, which the API takes', () => {
  const wanted = ofLetters([letter('d1'), letter('d2', 'billing'), letter('d3')])
  expect(wanted).toEqual([
    { destinationId: 'crm', what: 'dead', deliveryIds: ['d1', 'd3'] },
    { destinationId: 'billing', what: 'dead', deliveryIds: ['d2'] },
  ])
  for (const each of wanted) expect(replayShape.safeParse(each).success).toBe(true)
})

test('more than a thousand go in several', () => {
  const wanted = ofLetters(Array.from({ length: 1_001 }, (_, index) => letter(`d${index}`)))
  expect(wanted.map(({ deliveryIds }) => deliveryIds?.length)).toEqual([1_000, 1])
})

test('all of a filter is asked for by the filter, not by what is on the page', () => {
  const since = '2026-01-02T00:00:00.000Z'
  const wanted = ofFilter({ destinationId: 'crm', reason: 'refused', since }, [letter('d1')])
  expect(wanted).toEqual([{ destinationId: 'crm', what: 'dead', reason: 'refused', from: since }])
  expect(replayShape.safeParse(wanted[0]).success).toBe(true)
})

test('of one message its own letters alone are replayed', () => {
  expect(ofFilter({ messageId: 'm1' }, [letter('d1')])).toEqual([
    { destinationId: 'crm', what: 'dead', deliveryIds: ['d1'] },
  ])
})
