import { expect, test } from 'vitest'
import { createTally } from '../../bench/receivers/tally.ts'

/** Ten calls a second to two endpoints, in two windows of half a second. */
const aTally = () =>
  createTally({
    ...{ fromUs: 0, perSecond: 10, calls: 10, endpoints: 2, bad: 0 },
    windows: [
      { fromUs: 0, toUs: 500_000 },
      { fromUs: 500_000, toUs: 1_000_000 },
    ],
  })

test('a report can be made while calls are outstanding, and again later', () => {
  const tally = aTally()
  tally.arrive(0, 1_000)
  const early = tally.report(2_000_000)
  expect(early).toMatchObject([
    { due: 5, arrived: 1, p99Ms: expect.closeTo(1_900, -1) },
    { due: 5, arrived: 0 },
  ])
  expect(tally.report(2_000_000)).toEqual(early)
  for (let call = 1; call < 10; call++) tally.arrive(call, call * 100_000 + 1_000)
  expect(tally.report(3_000_000)).toMatchObject([
    { due: 5, arrived: 5, inTime: 5, p99Ms: expect.closeTo(1, 1) },
    { due: 5, arrived: 5, inTime: 5 },
  ])
})

test('a call that arrives again counts once, and the repetition counts in its window', () => {
  const tally = aTally()
  for (const call of [0, 1, 1, 1, 7, 7, 10, 10]) tally.arrive(call, 1_000_000)
  expect(tally.report(2_000_000)).toMatchObject([
    { due: 5, arrived: 2, again: 2 },
    { due: 5, arrived: 1, again: 1 },
  ])
})
