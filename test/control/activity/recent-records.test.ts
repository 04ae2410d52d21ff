import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compare,
  createRecentRecords,
  cursorOf,
  cursorShape,
  type Place,
} from '../../../control/activity/recent-records.ts'

const place = fc.record({
  time: fc.integer({ min: -3, max: 20 }),
  partition: fc.integer({ min: 0, max: 3 }),
  offset: fc.nat(1_000),
})
const places = fc.uniqueArray(place, { selector: cursorOf, maxLength: 60 })

function holding<T extends Place>(items: readonly T[], maxCount = 1_000) {
  const newest = createRecentRecords<T>({ maxCount })
  for (const item of items) newest.add(item)
  return newest
}

const at = (time: number, partition = 0): Place => ({ time, partition, offset: time })

test('whatever the order in which they come, the newest are held, in their order', () => {
  fc.assert(
    fc.property(places, fc.integer({ min: 1, max: 20 }), (items, maxCount) => {
      expect(holding(items, maxCount).all()).toEqual(items.toSorted(compare).slice(-maxCount))
    }),
  )
})

test('followed to their end, the pages hold each that is wanted once, newest first', () => {
  fc.assert(
    fc.property(places, fc.integer({ min: 1, max: 7 }), (items, limit) => {
      const newest = holding(items)
      const matches = ({ partition }: Place) => partition !== 1
      const seen: Place[] = []
      for (let cursor: Place | undefined, pages = 0; pages <= items.length; pages++) {
        const { items: some, next } = newest.page({ limit, cursor, matches })
        expect(some.length).toBeLessThanOrEqual(limit)
        seen.push(...some)
        if (next === null) break
        cursor = cursorShape.parse(next)
      }
      expect(seen).toEqual(items.filter(matches).toSorted(compare).toReversed())
    }),
  )
})

test('what comes in between two pages is neither in the second nor in its way', () => {
  const newest = holding([1, 2, 3, 4].map((time) => at(time)))
  const first = newest.page({ limit: 2 })
  expect(first.items.map(({ time }) => time)).toEqual([4, 3])
  newest.add(at(5))
  newest.add(at(6))
  const second = newest.page({ limit: 2, cursor: cursorShape.parse(first.next) })
  expect(second).toEqual({ items: [at(2), at(1)], next: null })
})

test('a page goes on where it was when what it ended with has dropped out', () => {
  const newest = holding(
    [1, 2, 3, 4].map((time) => at(time)),
    4,
  )
  const { next } = newest.page({ limit: 2 })
  for (const time of [5, 6]) newest.add(at(time))
  expect(newest.page({ limit: 2, cursor: cursorShape.parse(next) }).items).toEqual([])
  expect(newest.oldest()).toBe(3)
})

test('a last page that is full says that nothing follows', () => {
  expect(holding([at(1), at(2)]).page({ limit: 2 })).toEqual({ items: [at(2), at(1)], next: null })
})

describe('bounds', () => {
  test('by bytes as well as by number, and each that drops out is told once', () => {
    const dropped: number[] = []
    const newest = createRecentRecords<Place>({
      maxCount: 5,
      maxBytes: 100,
      bytesOf: ({ time }) => (time === 7 ? 90 : 10),
      onDropped: ({ time }) => dropped.push(time),
    })
    for (const time of [3, 1, 2, 4, 5, 6]) newest.add(at(time))
    expect(newest.all().map(({ time }) => time)).toEqual([2, 3, 4, 5, 6])
    newest.add(at(7))
    expect(newest.all().map(({ time }) => time)).toEqual([6, 7])
    expect(dropped).toEqual([1, 2, 3, 4, 5])
  })

  test('one that is larger than all may be is not held', () => {
    const newest = createRecentRecords<Place>({ maxCount: 5, maxBytes: 100, bytesOf: () => 101 })
    newest.add(at(1))
    expect(newest.all()).toEqual([])
  })

  test('what waits to be sorted in is bounded too', () => {
    let weighed = 0
    const dropped: Place[] = []
    const newest = createRecentRecords<Place>({
      maxCount: 100,
      bytesOf: () => ++weighed && 0,
      onDropped: (item) => dropped.push(item),
    })
    for (let time = 0; time < 1_000; time++) newest.add(at(time))
    expect(dropped.length).toBeGreaterThanOrEqual(890)
  })
})

describe('how far back it reaches', () => {
  test('nowhere when nothing is held, else to the oldest', () => {
    expect(holding([]).oldest()).toBeNull()
    expect(holding([at(3), at(2)]).oldest()).toBe(2)
  })

  test('where a partition was begun late, to its first one', () => {
    const newest = holding([at(1), at(5, 1), at(6, 1), at(3, 2)])
    newest.begunLate(new Set([1, 2]))
    expect(newest.oldest()).toBe(5)
    newest.begunLate(new Set([3]))
    expect(newest.oldest()).toBe(5)
  })
})

test('cursors are what a page has answered, and nothing else', () => {
  for (const text of ['', '1', '1.2', 'a.b.c', '1.2.3.4', '1.2.-3', ' 1.2.3', '1.2.3\n', '9'.repeat(16)])
    expect(cursorShape.safeParse(text).success).toBe(false)
  fc.assert(
    fc.property(place, (one) => {
      expect(cursorShape.parse(cursorOf(one))).toEqual(one)
    }),
  )
})
