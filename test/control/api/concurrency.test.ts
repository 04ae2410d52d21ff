import { expect, test } from 'vitest'
import { createSemaphore } from '../../../control/api/concurrency.ts'

/** The test ends each piece of work. */
function aSemaphore(atOnce: number) {
  const semaphore = createSemaphore(atOnce)
  const begun: number[] = []
  const works = [0, 1, 2, 3, 4].map((index) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const result = semaphore(() => {
      begun.push(index)
      return promise
    })
    return { result, succeed: () => resolve(index), fail: () => reject(new Error('no')) }
  })
  return { semaphore, begun, works }
}

test('a semaphore runs so many at once, and the others in order, whether work succeeds or fails', async () => {
  const { semaphore, begun, works } = aSemaphore(2)
  await Promise.resolve()
  expect(begun).toEqual([0, 1])
  works[1]?.fail()
  await expect(works[1]?.result).rejects.toThrow('no')
  expect(begun).toEqual([0, 1, 2])
  for (const { succeed } of works) succeed()
  expect(await works[4]?.result).toBe(4)
  expect(begun).toEqual([0, 1, 2, 3, 4])
  // all are free again
  const later: number[] = []
  for (const index of [5, 6, 7])
    void semaphore(async () => {
      later.push(index)
      await new Promise(() => {})
    })
  await new Promise(setImmediate)
  expect(later).toEqual([5, 6])
})
