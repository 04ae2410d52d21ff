import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  cutAt,
  MAX_SPAN,
  packAhead,
  settledAhead,
  Tracker,
  unpackAhead,
} from '../../kafka/consume/tracker.ts'

const fresh = (offset = 0) => new Tracker({ offset, ahead: '' })

describe('commit position', () => {
  test('stays at the lowest unsettled offset, however much is settled behind it', () => {
    const tracker = fresh()
    for (const offset of [0, 1, 2, 3]) tracker.take(offset, 0)
    tracker.settle(1)
    tracker.settle(3)
    expect(tracker.position().offset).toBe(0)
    tracker.settle(0)
    expect(tracker.position().offset).toBe(2)
  })

  test('passes gaps that compaction and transaction markers leave', () => {
    const tracker = fresh(10)
    for (const offset of [10, 15, 40]) tracker.take(offset, 0)
    tracker.settle(10)
    expect(tracker.position().offset).toBe(15)
    tracker.settle(15)
    tracker.settle(40)
    expect(tracker.position().offset).toBe(41)
  })

  test('never passes an unsettled offset and reaches the end when all are settled, in any order', () => {
    const offsets = fc.uniqueArray(fc.nat(400), { minLength: 1 }).map((list) => list.sort((a, b) => a - b))
    fc.assert(
      fc.property(
        offsets.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([seen, order]) => {
          const tracker = fresh()
          for (const offset of seen) expect(tracker.take(offset, 0)).toBe(true)
          const open = new Set(seen)
          for (const offset of order) {
            tracker.settle(offset)
            open.delete(offset)
            const lowest = Math.min(...open, (seen.at(-1) ?? 0) + 1)
            expect(tracker.position().offset).toBe(lowest)
            expect(tracker.unsettled()).toBe(open.size)
          }
        },
      ),
    )
  })

  test('counts a record once even if it is settled twice', () => {
    const tracker = fresh()
    tracker.take(0, 0)
    tracker.take(1, 0)
    tracker.settle(1)
    tracker.settle(1)
    expect(tracker.unsettled()).toBe(1)
  })
})

describe('a record settled ahead of the commit', () => {
  test('is the only one skipped after a restart', () => {
    const numbers = fc.uniqueArray(fc.nat(300), { minLength: 1 })
    fc.assert(
      fc.property(numbers, fc.nat(50), (settled, base) => {
        const before = fresh(base)
        for (let offset = base; offset <= base + 300; offset++) before.take(offset, 0)
        for (const offset of settled) before.settle(base + offset)
        const after = new Tracker(before.position())
        for (let offset = before.position().offset; offset <= base + 300; offset++)
          expect(after.take(offset, 0)).toBe(!settled.includes(offset - base))
      }),
    )
  })

  test('is marked in the commit, and other records are not', () => {
    const around = Array.from({ length: 320 }, (_, index) => index - 10)
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(300)), fc.nat(50), (settled, base) => {
        const isAhead = settledAhead(base, packAhead(base, new Set(settled.map((each) => base + each))))
        expect(around.filter((each) => isAhead(base + each))).toEqual(settled.toSorted((a, b) => a - b))
      }),
    )
    expect(settledAhead(0, packAhead(0, [0]))(2 ** 35)).toBe(false)
  })

  test('is forgotten beyond the widest span that a commit can state', () => {
    const all = Array.from({ length: MAX_SPAN + 10 }, (_, index) => 7 + index)
    expect(unpackAhead(7, packAhead(7, all))).toHaveLength(MAX_SPAN)
  })

  test('counts as read: the next place is after it', () => {
    const before = fresh()
    for (let offset = 0; offset < 10; offset++) before.take(offset, 70 + offset)
    before.settle(8)
    expect(before.next()).toEqual({ offset: 10, time: 79 })
    expect(new Tracker(before.position()).next()).toEqual({ offset: 9, time: undefined, again: 0 })
  })
})

describe('a record fetched again', () => {
  test('is not taken a second time while it is in flight or settled', () => {
    const tracker = fresh()
    tracker.take(0, 0)
    tracker.take(1, 0)
    tracker.settle(1)
    expect([tracker.take(0, 0), tracker.take(1, 0), tracker.take(2, 0)]).toEqual([false, false, true])
  })

  test('is taken again when it was released untouched, and holds the commit until then', () => {
    const tracker = fresh()
    tracker.take(0, 0)
    tracker.take(1, 0)
    tracker.release(0)
    tracker.settle(1)
    expect(tracker.inFlight()).toBe(0)
    expect(tracker.position().offset).toBe(0)
    expect([tracker.take(0, 0), tracker.take(1, 0)]).toEqual([true, false])
  })

  test('is taken again if it was the last one', () => {
    const tracker = fresh()
    tracker.take(0, 0)
    tracker.release(0)
    expect([tracker.take(0, 0), tracker.unsettled(), tracker.position().offset]).toEqual([true, 1, 0])
    tracker.settle(0)
    expect([tracker.take(0, 0), tracker.unsettled(), tracker.position().offset]).toEqual([false, 0, 1])
  })
})

test('a record that is settled again after the commit has passed it changes nothing', () => {
  const tracker = fresh()
  for (const offset of [0, 1, 2]) tracker.take(offset, 0)
  tracker.settle(0)
  tracker.settle(0)
  expect([tracker.unsettled(), tracker.position()]).toEqual([2, { offset: 1, ahead: '' }])
})

test('a log that was cut is read on from the cut, without the records that were settled from there on', () => {
  const ahead = packAhead(10, [12, 14, 15])
  expect(cutAt({ offset: 10, ahead }, 14)).toEqual({ offset: 10, ahead: packAhead(10, [12]) })
  expect(cutAt({ offset: 10, ahead }, 10)).toEqual({ offset: 10, ahead: '' })
  expect(cutAt({ offset: 10, ahead }, 4)).toEqual({ offset: 4, ahead: '' })
})

test('the oldest is the first unsettled record, whatever is behind it', () => {
  const tracker = new Tracker({ offset: 0, ahead: '' })
  expect(tracker.oldest()).toBeUndefined()
  for (const [offset, time] of [
    [0, 70],
    [1, 50],
    [2, 60],
  ] as const)
    tracker.take(offset, time)
  tracker.settle(1)
  expect(tracker.oldest()).toBe(70)
  tracker.settle(0)
  expect(tracker.oldest()).toBe(60)
  tracker.settle(2)
  expect(tracker.oldest()).toBeUndefined()
})

test('the times of settled records are dropped', () => {
  const tracker = new Tracker({ offset: 0, ahead: '' })
  for (let offset = 0; offset < 5_000; offset++) {
    tracker.take(offset, offset)
    if (offset > 0) tracker.settle(offset - 1)
    expect(tracker.oldest()).toBe(offset)
  }
})

test('lost records are not waited for, unless they are in flight', () => {
  // 105 was settled before a restart
  const tracker = new Tracker({ offset: 100, ahead: packAhead(100, [105]) })
  for (const offset of [100, 101, 102]) tracker.take(offset, 0)
  tracker.release(102)
  tracker.release(101)
  expect(tracker.next()).toMatchObject({ offset: 106, again: 101 })
  expect(tracker.take(102, 0)).toBe(true)
  tracker.skip(110)
  expect(tracker.next()).toEqual({ offset: 110, time: 0, again: undefined })
  expect(tracker.position().offset).toBe(100)
  tracker.settle(100)
  expect(tracker.position().offset).toBe(102)
  tracker.settle(102)
  expect(tracker.position()).toEqual({ offset: 110, ahead: '' })
  expect(tracker.take(110, 0)).toBe(true)
})
