import { expect, test } from 'vitest'
import { batchesOf } from '../../process/batches.ts'

test('a batch has at most so many items, in their order', () => {
  const of = (count: number) => [...batchesOf(Array(count).keys(), 2)]
  expect([of(0), of(2), of(5)]).toEqual([[], [[0, 1]], [[0, 1], [2, 3], [4]]])
})

test('it has at most so many bytes, unless one item has more', () => {
  const bytes = { most: 4, of: (text: string) => text.length }
  expect([...batchesOf(['ab', 'cd', 'e', 'large', 'f', 'g'], 2, bytes)]).toEqual([
    ['ab', 'cd'],
    ['e'],
    ['large'],
    ['f', 'g'],
  ])
})
