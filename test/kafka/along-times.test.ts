import { expect, test } from 'vitest'
import { alongTimes } from '../../kafka/admin/along-times.ts'

test.each([
  ['is the same at all times', [4, 4, 4, 4, 4, 4, 4, 4, 4], 2],
  ['grows all the time', [1, 2, 3, 4, 5, 6, 7, 8, 9], 9],
  ['grew once', [1, 1, 1, 1, 1, 1, 1, 1, 9], 5],
])('what %s is asked for as rarely as possible', async (_, values, count) => {
  const times = values.map((_, index) => 10 * index)
  let asked = 0
  const found = await alongTimes(times, async (time) => {
    asked += 1
    return values[time / 10]
  })
  expect(found).toEqual(times.map((time, index) => ({ time, answer: values[index] })))
  expect(asked).toBe(count)
})

test('no times are asked about when there are none', async () => {
  expect(await alongTimes([], () => Promise.reject(new Error('asked')))).toEqual([])
})
