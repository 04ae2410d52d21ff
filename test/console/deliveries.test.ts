import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { followServer, serverNow, shownNow } from '../../console/src/api/client/clock.ts'
import {
  type Latest,
  latestSince,
  MAX_ROWS,
  mergeDeliveries,
  withLatest,
} from '../../console/src/api/deliveries.ts'
import { filterFromParams } from '../../console/src/views/destinations/deliveries/filter.ts'
import { deliveriesQueryShape } from '../../control/activity/deliveries/listed.ts'
import { delivery } from './delivery.ts'

const at = (seconds: number) =>
  new Date(Date.parse('2026-01-02T00:00:00.000Z') + seconds * 1_000).toISOString()
const made = (id: number, state: 'waiting' | 'delivered' = 'delivered') =>
  delivery(`d0-${id}`, state, { routedAt: at(id) })

describe('the list', () => {
  test('has each delivery once, newest first, in its latest state', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 0, max: 50 }))
    fc.assert(
      fc.property(ids, ids, (before, latest) => {
        const merged = mergeDeliveries(
          before.map((id) => made(id, 'waiting')),
          latest.map((id) => made(id)),
        )
        const all = [...new Set([...before, ...latest])].sort((a, b) => b - a)
        expect(merged).toEqual(all.map((id) => made(id, latest.includes(id) ? 'delivered' : 'waiting')))
      }),
    )
  })

  test('drops the oldest beyond its limit', () => {
    const many = Array.from({ length: MAX_ROWS + 5 }, (_, id) => made(id))
    const merged = mergeDeliveries(many, [])
    expect([merged.length, merged[0]?.id]).toEqual([MAX_ROWS, `d0-${MAX_ROWS + 4}`])
  })
})

describe('what is new', () => {
  const page = (from: number, count: number, next: string | null = '1.0.0') => ({
    items: Array.from({ length: count }, (_, index) => made(from + index)),
    next,
  })
  const none = { items: [], isGap: false, askedAt: 0 }
  const joined = (before: Latest | undefined, next: ReturnType<typeof page>) => withLatest(before, next, 0)

  test('adds up over time', () => {
    const first = joined(none, page(0, 3, null))
    const { items, isGap } = joined(first, page(2, 3, null))
    expect([items.length, isGap]).toEqual([5, false])
  })

  test('has a gap if a full page shares nothing with what is known', () => {
    const first = joined(undefined, page(0, 100))
    expect(first.isGap).toBe(false)
    expect(joined(first, page(99, 100)).isGap).toBe(false)
    const gap = joined(first, page(100, 100))
    expect(gap.isGap).toBe(true)
    expect(joined(gap, page(199, 100)).isGap).toBe(true)
    expect(joined(first, page(200, 99, null)).isGap).toBe(false)
  })

  test('has a gap if a full page follows an empty one', () => {
    const quiet = joined(none, page(0, 0, null))
    expect(quiet.isGap).toBe(false)
    expect(joined(quiet, page(0, 100, null)).isGap).toBe(false)
    expect(joined(quiet, page(0, 100)).isGap).toBe(true)
  })

  test('includes what was made while the list was paused, but nothing older than the filter allows', () => {
    const since = (askedAt: number, now: number, filter = {}) =>
      latestSince({ of: 'crm', filter }, { askedAt: Date.parse(at(askedAt)) }, Date.parse(at(now)))
    expect(latestSince({ of: 'crm', filter: {} }, undefined, Date.parse(at(600)))).toBe(at(540))
    expect(since(600, 600)).toBe(at(540))
    expect(since(100, 600)).toBe(at(40))
    // the clock was set back
    expect(since(100, 90)).toBe(at(30))
    expect(since(100, 7_200, { hours: 1 })).toBe(at(3_600))
    expect(since(7_000, 7_200, { hours: 1 })).toBe(at(6_940))
  })

  test('knows when it was asked', () => {
    expect(withLatest(none, page(0, 3), 7)).toMatchObject({ askedAt: 7 })
  })

  test('is asked for by the clock of the server, not of the browser', () => {
    const ahead = Date.parse(at(600))
    followServer(new Date(at(0)).toUTCString(), ahead)
    expect(latestSince({ of: 'crm', filter: {} }, undefined, serverNow(ahead + 5_000))).toBe(at(-55))
    // a proxy's answer may have none
    followServer(null, ahead)
    followServer('now', ahead)
    expect(serverNow(ahead)).toBe(Date.parse(at(0)))
  })

  test("times follow the server's clock, unless the difference is too small to be known", () => {
    const now = Date.parse(at(600))
    followServer(new Date(at(0)).toUTCString(), now)
    expect(shownNow(now)).toBe(Date.parse(at(0)))
    followServer(new Date(at(599)).toUTCString(), now)
    expect([shownNow(now), serverNow(now)]).toEqual([now, Date.parse(at(599))])
  })
})

test('the address becomes a valid filter, without what is unknown', () => {
  const params = new URLSearchParams(
    'state=rejected&status=4xx&event=Paid&user=u1&messageId=m1&hours=24&delivery=d1-2',
  )
  const { hours, ...filter } = filterFromParams(params)
  expect([hours, filter]).toEqual([
    24,
    { state: 'rejected', status: '4xx', event: 'Paid', user: 'u1', messageId: 'm1' },
  ])
  expect(deliveriesQueryShape.safeParse(filter).success).toBe(true)
  expect(filterFromParams(new URLSearchParams('state=tired&hours=168&user=&since=1'))).toEqual({})
})
