import { expect, test } from 'vitest'
import { createPausingClock } from '../../process/pausing-clock.ts'

test('a pausing clock leaves out all but 500 ms of a longer gap, and nothing of a shorter one', () => {
  let time = 1_000
  const now = createPausingClock(() => time)
  const after = (ms: number) => {
    time += ms
    return now()
  }
  expect(now()).toBe(1_000)
  expect(after(499)).toBe(1_499)
  expect(after(500)).toBe(1_999)
  expect(after(60_000)).toBe(2_499)
  expect(after(1)).toBe(2_500)
})
