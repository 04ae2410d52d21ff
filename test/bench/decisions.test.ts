import { expect, test } from 'vitest'
import { verdict } from '../../bench/figures/summary.ts'
import { afterTry, type Found, nextRate } from '../../bench/system/search.ts'

test.each([900, 1_000, 1_249, 3_400, 7_999, 8_000])(
  'the highest rate that holds is found to 250 a second: %d',
  (limit) => {
    let found: Found = { held: 0, failed: undefined }
    const tried: number[] = []
    for (let rate = nextRate(found); rate !== undefined; rate = nextRate(found)) {
      tried.push(rate)
      found = afterTry(found, rate, rate <= limit)
    }
    expect(found.held).toBe(Math.floor(limit / 250) * 250)
    expect(found.failed).toBe(found.held + 250)
    expect(new Set(tried).size).toBe(tried.length)
  },
)

test('goals that are missed are named with what they are and should be, figures that are none among them', () => {
  const reached = { what: 'a rate', is: 4, atLeast: 4 }
  expect(verdict([reached])).toBe('The goal is reached.')
  expect(
    verdict([
      reached,
      { what: 'p99', is: 61.25, atMost: 50 },
      { what: 'a ratio', is: Number.NaN, atLeast: 1 },
    ]),
  ).toBe('**Missed:** p99 is 61.25 (goal: at most 50); a ratio is NaN (goal: at least 1).')
})
