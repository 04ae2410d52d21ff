import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCurve, type Point } from '../../../../control/activity/lag/history.ts'

function curveOf(points: readonly [offset: number, at: number][]) {
  const curve = createCurve()
  for (const [offset, at] of points) curve.add({ offset, at })
  return curve
}

describe('the time of a record follows from observations of the end of its partition', () => {
  test.each<[what: string, points: [number, number][], offset: number, expected: number | undefined]>([
    [
      'between two observations: interpolated',
      [
        [100, 0],
        [104, 8_000],
      ],
      101,
      3_000,
    ],
    [
      'the first of them',
      [
        [100, 0],
        [104, 8_000],
      ],
      100,
      1_000,
    ],
    [
      'the last of them',
      [
        [100, 0],
        [104, 8_000],
      ],
      103,
      7_000,
    ],
    [
      'one alone: in the middle',
      [
        [100, 0],
        [101, 2_000],
      ],
      100,
      1_000,
    ],
    [
      'after a quiet time: within the observation that it came in',
      [
        [5, 0],
        [5, 2_000],
        [5, 60_000],
        [6, 62_000],
      ],
      5,
      61_000,
    ],
    [
      'among several observations, between the right two',
      [
        [0, 0],
        [10, 2_000],
        [20, 4_000],
        [21, 6_000],
      ],
      15,
      3_100,
    ],
    [
      'before the first observation: unknown',
      [
        [100, 0],
        [104, 8_000],
      ],
      99,
      undefined,
    ],
    [
      'not there yet',
      [
        [100, 0],
        [104, 8_000],
      ],
      104,
      undefined,
    ],
    ['no observation', [], 0, undefined],
    ['after one observation: unknown', [[100, 0]], 99, undefined],
  ])('%s', (_, points, offset, expected) => {
    expect(curveOf(points).timeOf(offset)).toBe(expected)
  })
})

test('a recreated topic has no points of the old one', () => {
  const curve = curveOf([
    [0, 0],
    [100, 2_000],
    [3, 4_000],
    [8, 6_000],
  ])
  expect([curve.timeOf(1), curve.timeOf(50), curve.timeOf(5)]).toEqual([undefined, undefined, 5_000])
})

test('after the clock was set back, older points are void', () => {
  const curve = curveOf([
    [0, 100_000],
    [100, 102_000],
    [110, 50_000],
    [120, 52_000],
  ])
  expect([curve.timeOf(50), curve.timeOf(115)]).toEqual([undefined, 51_100])
})

test('a second observation at the same time changes nothing', () => {
  expect(
    curveOf([
      [0, 0],
      [0, 0],
      [4, 8_000],
      [4, 8_000],
    ]).timeOf(1),
  ).toBe(3_000)
})

const EVERY_MS = 2_000

/** `steps`: records between observations. */
function growth(steps: readonly number[]): { points: Point[]; at: number } {
  let offset = 0
  const points = steps.map((step, index) => {
    offset += step
    return { offset, at: index * EVERY_MS }
  })
  return { points, at: (steps.length - 1) * EVERY_MS }
}

/** Mostly one record, sometimes none, rarely very many. */
const steps = fc
  .record({
    observations: fc.integer({ min: 2, max: 3_000 }),
    quiet: fc.array(fc.nat(2_999), { maxLength: 100 }),
    busy: fc.array(fc.nat(2_999), { maxLength: 3 }),
  })
  .map(({ observations, quiet, busy }) =>
    Array.from({ length: observations }, (_, observe) =>
      busy.includes(observe) ? 100_000 : quiet.includes(observe) ? 0 : 1,
    ),
  )

test('whatever the growth, a time is off by at most one observation or an eighth of its age', () => {
  fc.assert(
    fc.property(steps, fc.nat(), (each, seed) => {
      const { points, at } = growth(each)
      const curve = createCurve()
      for (const point of points) curve.add(point)
      const last = points.at(-1)?.offset ?? 0
      fc.pre(last > (points[0]?.offset ?? 0))
      const offset = (points[0]?.offset ?? 0) + (seed % (last - (points[0]?.offset ?? 0)))
      // it came between these observations
      const to = points.findIndex((point) => point.offset > offset)
      const [earliest, latest] = [(to - 1) * EVERY_MS, to * EVERY_MS]
      const slack = Math.max(EVERY_MS, (at - earliest) / 8)
      const time = curve.timeOf(offset) ?? Number.NaN
      expect(time).toBeGreaterThanOrEqual(latest - slack)
      expect(time).toBeLessThanOrEqual(earliest + slack)
    }),
    { numRuns: 200 },
  )
})

test('a quiet day does not drop points from before it', () => {
  const curve = createCurve()
  for (let observe = 0; observe <= 100; observe++) curve.add({ offset: observe, at: observe * EVERY_MS })
  for (let observe = 101; observe <= 40_000; observe++) curve.add({ offset: 100, at: observe * EVERY_MS })
  expect([curve.timeOf(50), curve.size()]).toEqual([50.5 * EVERY_MS, 102])
})

test('a week of observations takes few points and stays accurate', () => {
  const curve = createCurve()
  const week = (7 * 24 * 3_600_000) / EVERY_MS
  for (let observe = 0; observe <= week; observe++) curve.add({ offset: observe * 3, at: observe * EVERY_MS })
  expect(curve.size()).toBeLessThanOrEqual(256)
  const [old, young] = [curve.timeOf(3 * 1_000), curve.timeOf(3 * (week - 10))]
  expect(old).toBeGreaterThan(0)
  expect(Math.abs((old ?? 0) - 1_000 * EVERY_MS)).toBeLessThan((week * EVERY_MS) / 8)
  expect(Math.abs((young ?? 0) - (week - 10) * EVERY_MS)).toBeLessThan(2 * EVERY_MS)
})
