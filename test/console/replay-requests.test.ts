import { describe, expect, test } from 'vitest'
import type { DeadLetter } from '../../console/src/api/dead-letters.ts'
import { newId } from '../../console/src/random.ts'
import { filterFromForm, filterFromParams } from '../../console/src/views/dead-letters/filter.ts'
import {
  describeMatching,
  newestOfEach,
  parseRate,
  periodOf,
  requestsForDeliveries,
  requestsForFilter,
  requestsForLetters,
  resendable,
  startable,
} from '../../console/src/views/replays/requests.ts'
import { fromLocalInput, toLocalInput } from '../../console/src/wording/format.ts'
import { replayShape } from '../../control/tasks/replays/decide.ts'
import { delivery } from './delivery.ts'

const letter = (deliveryId: string, destinationId = 'crm'): DeadLetter => ({
  id: `x0-${deliveryId.slice(1)}`,
  deliveryId,
  messageId: 'm1',
  destinationId,
  event: 'Paid',
  user: 'u1',
  reason: 'refused',
  code: null,
  deadAt: '2026-01-02T03:04:05.000Z',
  replayed: null,
  attempts: [],
  body: '{}',
  afterwards: null,
})

const totals = {
  matching: [
    { destinationId: 'crm', count: 30 },
    { destinationId: 'billing', count: 7 },
    { destinationId: 'erp', count: 1 },
  ],
  isPartial: false,
  destinations: [
    { id: 'crm', enabled: true },
    { id: 'billing', enabled: false },
    { id: 'mail', enabled: true },
  ],
  now: Date.parse('2026-01-02T12:00:00.000Z'),
}

test('a selection becomes one valid request per destination', () => {
  const requests = requestsForLetters([letter('d1'), letter('d2', 'billing'), letter('d3')])
  expect(requests).toEqual([
    { destinationId: 'crm', what: 'dead', entries: ['x0-1', 'x0-3'] },
    { destinationId: 'billing', what: 'dead', entries: ['x0-2'] },
  ])
  for (const each of requests) expect(replayShape.safeParse({ ...each, id: newId() }).success).toBe(true)
})

test('a delivery that died twice is sent once, also for each of two users with the same delivery id', () => {
  const older = { ...letter('d1'), deadAt: '2026-01-01T00:00:00.000Z' }
  const letters = [letter('d1'), letter('d1', 'billing'), { ...letter('d1'), user: 'u2' }, older]
  expect(newestOfEach(letters)).toEqual(letters.slice(0, 3))
})

test('more than a thousand dead letters are split into several requests', () => {
  const requests = requestsForLetters(Array.from({ length: 1_001 }, (_, index) => letter(`d${index}`)))
  expect(requests.map(({ entries }) => entries?.length)).toEqual([1_000, 1])
})

test('“replay all matching” uses the filter, not the loaded page, and skips what was replayed', () => {
  const filter = filterFromParams(
    new URLSearchParams(
      'destinationId=crm&reason=refused&hours=24&since=1&event=Paid&user=u1&status=4xx&replayed=false',
    ),
  )
  const requests = requestsForFilter(filter, { ...totals, matching: totals.matching.slice(0, 1) })
  expect(requests).toEqual([
    {
      destinationId: 'crm',
      what: 'dead',
      skipReplayed: true,
      reason: 'refused',
      event: 'Paid',
      user: 'u1',
      status: '4xx',
      from: '2026-01-01T12:00:00.000Z',
    },
  ])
  expect(replayShape.safeParse(requests[0]).success).toBe(true)
})

test('a chosen period of the filter is the period of the replay', () => {
  const filter = filterFromParams(
    new URLSearchParams('since=2026-01-01T00:00:00.000Z&until=2026-01-02T00:00:00.000Z&hours=1'),
  )
  const [request] = requestsForFilter(filter, totals)
  expect(request).toEqual({
    destinationId: 'crm',
    what: 'dead',
    skipReplayed: true,
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-02T00:00:00.000Z',
  })
  expect(replayShape.safeParse(request).success).toBe(true)
  expect(filterFromParams(new URLSearchParams('since=yesterday&until=1'))).toEqual({})
})

test('a form sets times only for a custom period, and keeps a time that was not edited', () => {
  const since = '2026-01-01T00:00:30.000Z'
  const local = { since: toLocalInput(since), until: toLocalInput('2026-01-02T00:00:00.000Z') }
  const values = (more: object) => new URLSearchParams({ ...local, user: 'u1', ...more })
  expect(filterFromForm(values({ hours: 'custom' }), { since })).toEqual({
    since,
    until: '2026-01-02T00:00:00.000Z',
    user: 'u1',
  })
  expect(filterFromForm(values({ hours: 'custom' }), {}).since).toBe('2026-01-01T00:00:00.000Z')
  expect(filterFromForm(values({ hours: '24' }), { since })).toEqual({ hours: 24, user: 'u1' })
  expect(
    filterFromForm(values({ hours: 'custom', since: '20261-01-01T00:00' }), { since }),
  ).not.toHaveProperty('since')
})

test('a filter covers every counted destination, and all destinations if the counts are partial', () => {
  const idsOf = (...asked: Parameters<typeof requestsForFilter>) =>
    requestsForFilter(...asked).map(({ destinationId }) => destinationId)
  expect(idsOf({}, totals)).toEqual(['crm', 'billing', 'erp'])
  expect(idsOf({}, { ...totals, matching: [] })).toEqual([])
  expect(idsOf({}, { ...totals, isPartial: true })).toEqual(['crm', 'billing', 'erp', 'mail'])
  const one = { destinationId: 'mail' }
  expect(idsOf(one, { ...totals, matching: [], isPartial: true })).toEqual(['mail'])
})

test('the number that is sent leaves out destinations that are off or deleted', () => {
  const { requests } = startable(requestsForFilter({}, totals), totals.destinations)
  expect(describeMatching(requests, totals)).toBe('30 dead letters')
  expect(describeMatching(requests, { ...totals, isPartial: true })).toBe('at least 30 dead letters')
  expect(describeMatching([{ destinationId: 'erp' }], totals)).toBe('1 dead letter')
})

describe('deliveries to send again', () => {
  test('are those that are over, each once', () => {
    const entries = [
      delivery('r1-0', 'delivered', { replay: true }),
      delivery('d1-3', 'retrying', { deliveryId: 'b' }),
      delivery('d1-2', 'waiting', { deliveryId: 'c' }),
      delivery('d1-4', 'held', { deliveryId: 'e' }),
      delivery('d1-1', 'cancelled', { deliveryId: 'd' }),
      delivery('d1-0', 'delivered'),
    ]
    expect(resendable(entries).map(({ id }) => id)).toEqual(['r1-0', 'd1-1'])
  })

  test('include one entry for each user who shares a delivery id', () => {
    const entries = [delivery('d1-1'), delivery('d1-0', 'delivered', { user: 'u2' })]
    expect(resendable(entries)).toEqual(entries)
  })

  test('become valid requests: known dead letters by their ids, others by entry, replays apart', () => {
    const requests = requestsForDeliveries([
      delivery('d1-0', 'rejected', { deliveryId: 'a', deadLetter: 'x0-1' }),
      delivery('d1-1', 'delivered', { deliveryId: 'b' }),
      delivery('r1-2', 'unknown', { deliveryId: 'c', replay: true }),
      delivery('d1-3', 'dead', { deliveryId: 'd', deadLetter: 'x2-7' }),
      delivery('d1-5', 'dead', { deliveryId: 'f' }),
      delivery('d1-4', 'cancelled', { deliveryId: 'e' }),
    ])
    expect(requests).toEqual([
      { destinationId: 'crm', what: 'dead', entries: ['x0-1', 'x2-7'] },
      { destinationId: 'crm', what: 'deliveries', entries: ['d1-1', 'd1-5', 'd1-4'] },
      { destinationId: 'crm', what: 'deliveries', entries: ['r1-2'] },
    ])
    for (const each of requests) expect(replayShape.safeParse(each).success).toBe(true)
  })
})

test('a destination that is off or deleted is skipped and named', () => {
  const { requests, skipped } = startable(requestsForFilter({}, totals), totals.destinations)
  expect(requests.map(({ destinationId }) => destinationId)).toEqual(['crm'])
  expect(skipped).toEqual([
    { destinationId: 'billing', why: 'off' },
    { destinationId: 'erp', why: 'deleted' },
  ])
  // while destinations are loading, the API decides
  expect(startable(requestsForFilter({}, totals), undefined).requests).toHaveLength(3)
})

test('unknown filter parameters in the address are ignored', () => {
  expect(filterFromParams(new URLSearchParams('reason=bad&hours=5&messageId=&since=2026'))).toEqual({})
})

test('a rate is a number from 1 to 10,000, or undefined', () => {
  expect(['1', '0.5', '0', '', ' ', '10000', '10001', 'x'].map(parseRate)).toEqual([
    1,
    ...[undefined, undefined, undefined, undefined],
    10_000,
    ...[undefined, undefined],
  ])
})

test('a period is the last hours or the typed times, and an empty end means now', () => {
  const now = Date.parse('2026-01-02T12:00:00.000Z')
  const none = { from: '', to: '' }
  expect(periodOf('24', none, now)).toEqual({
    from: '2026-01-01T12:00:00.000Z',
    to: '2026-01-02T12:00:00.000Z',
  })
  const from = toLocalInput('2026-01-02T09:00:00.000Z')
  expect(fromLocalInput(from)).toBe('2026-01-02T09:00:00.000Z')
  expect(fromLocalInput('20261-01-02T09:00')).toBeUndefined()
  expect(fromLocalInput(from, '2026-01-02T09:00:45.000Z')).toBe('2026-01-02T09:00:45.000Z')
  expect(fromLocalInput(from, '2026-01-02T09:01:00.000Z')).toBe('2026-01-02T09:00:00.000Z')
  expect(fromLocalInput('', 'yesterday')).toBeUndefined()
  expect(periodOf('custom', { from, to: '' }, now)).toEqual({
    from: '2026-01-02T09:00:00.000Z',
    to: '2026-01-02T12:00:00.000Z',
  })
  expect(periodOf('custom', none, now)).toBeUndefined()
  expect(periodOf('custom', { from, to: from }, now)).toBeUndefined()
})
