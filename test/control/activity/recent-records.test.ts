import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compare,
  createRecentRecords,
  cursorOf,
  cursorShape,
  type RecordPosition,
} from '../../../control/activity/records/recent-records.ts'

const place = fc.record({
  // of records that other programs write, too
  time: fc.oneof(fc.integer({ min: -3, max: 20 }), fc.maxSafeInteger()),
  partition: fc.integer({ min: 0, max: 3 }),
  offset: fc.nat(1_000),
})
const places = fc.uniqueArray(place, { selector: cursorOf, maxLength: 60 })

function holding<T extends RecordPosition>(items: readonly T[], maxCount = 1_000) {
  const newest = createRecentRecords<T>({ maxCount })
  for (const item of items) newest.add(item)
  return newest
}

const at = (time: number, partition = 0): RecordPosition => ({ time, partition, offset: time })

test('in whatever order records arrive, the newest are held, sorted', () => {
  fc.assert(
    fc.property(places, fc.integer({ min: 1, max: 20 }), (items, maxCount) => {
      expect(holding(items, maxCount).all()).toEqual(items.toSorted(compare).slice(-maxCount))
    }),
  )
})

test('all pages together hold each match once, newest first', () => {
  fc.assert(
    fc.property(places, fc.integer({ min: 1, max: 7 }), (items, limit) => {
      const newest = holding(items)
      const matches = ({ partition }: RecordPosition) => partition !== 1
      const seen: RecordPosition[] = []
      for (let cursor: RecordPosition | undefined, pages = 0; pages <= items.length; pages++) {
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

test('records that arrive between two pages do not affect the second', () => {
  const newest = holding([1, 2, 3, 4].map((time) => at(time)))
  const first = newest.page({ limit: 2 })
  expect(first.items.map(({ time }) => time)).toEqual([4, 3])
  newest.add(at(5))
  newest.add(at(6))
  const second = newest.page({ limit: 2, cursor: cursorShape.parse(first.next) })
  expect(second).toEqual({ items: [at(2), at(1)], next: null })
})

test('a page continues at its cursor even if that record was dropped', () => {
  const newest = holding(
    [1, 2, 3, 4].map((time) => at(time)),
    4,
  )
  const { next } = newest.page({ limit: 2 })
  for (const time of [5, 6]) newest.add(at(time))
  expect(newest.page({ limit: 2, cursor: cursorShape.parse(next) }).items).toEqual([])
  expect(newest.oldest()).toBe(3)
})

test('a full last page says that nothing follows', () => {
  expect(holding([at(1), at(2)]).page({ limit: 2 })).toEqual({ items: [at(2), at(1)], next: null })
})

describe('bounds', () => {
  test('apply to bytes and number, and each dropped record is reported once', () => {
    const dropped: number[] = []
    const newest = createRecentRecords<RecordPosition>({
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

  test('a record larger than the limit is not held', () => {
    const newest = createRecentRecords<RecordPosition>({ maxCount: 5, maxBytes: 100, bytesOf: () => 101 })
    newest.add(at(1))
    expect(newest.all()).toEqual([])
  })

  test('apply to unsorted records too', () => {
    let weighed = 0
    const dropped: RecordPosition[] = []
    const newest = createRecentRecords<RecordPosition>({
      maxCount: 100,
      bytesOf: () => ++weighed && 0,
      onDropped: (item) => dropped.push(item),
    })
    for (let time = 0; time < 1_000; time++) newest.add(at(time))
    expect(dropped.length).toBeGreaterThanOrEqual(890)
  })
})

describe('how far back it reaches', () => {
  test('to the oldest record; null without records', () => {
    expect(holding([]).oldest()).toBeNull()
    expect(holding([at(3), at(2)]).oldest()).toBe(2)
  })

  test('to the first record of a partition that was not read from its start', () => {
    const newest = holding([at(1), at(5, 1), at(6, 1), at(3, 2)])
    newest.begunLate(new Set([1, 2]))
    expect(newest.oldest()).toBe(5)
    newest.begunLate(new Set([3]))
    expect(newest.oldest()).toBe(5)
  })
})

test('only cursors from a page are valid', () => {
  for (const text of ['', '1', '1.2', 'a.b.c', '1.2.3.4', '1.2.-3', ' 1.2.3', '1.2.3\n', '9'.repeat(16)])
    expect(cursorShape.safeParse(text).success).toBe(false)
  fc.assert(
    fc.property(place, (one) => {
      expect(cursorShape.parse(cursorOf(one))).toEqual(one)
    }),
  )
})
