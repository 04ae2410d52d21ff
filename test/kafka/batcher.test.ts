import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBatcher } from '../../kafka/produce/batcher.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function aBatcher() {
  const handedOver: (readonly number[])[] = []
  return {
    handedOver,
    ...createBatcher<number>({ maxItems: 3, lingerMs: 50 }, (items) => handedOver.push(items)),
  }
}

test('items are passed on together once the first has waited long enough', () => {
  const { add, handedOver } = aBatcher()
  add(1)
  vi.advanceTimersByTime(49)
  add(2)
  expect(handedOver).toEqual([])
  vi.advanceTimersByTime(1)
  expect(handedOver).toEqual([[1, 2]])
})

test('a full batch does not wait, and the wait then starts over', () => {
  const { add, handedOver } = aBatcher()
  add(1)
  vi.advanceTimersByTime(30)
  for (const item of [2, 3, 4]) add(item)
  expect(handedOver).toEqual([[1, 2, 3]])
  vi.advanceTimersByTime(20)
  expect(handedOver).toEqual([[1, 2, 3]])
  vi.advanceTimersByTime(30)
  expect(handedOver).toEqual([[1, 2, 3], [4]])
})

test('flushed items are passed on once, and an empty batch is not', () => {
  const { add, flush, handedOver } = aBatcher()
  flush()
  add(1)
  flush()
  vi.advanceTimersByTime(100)
  expect(handedOver).toEqual([[1]])
})

test('items that arrive while a batch is passed on are not lost', () => {
  const handedOver: (readonly number[])[] = []
  const batcher = createBatcher<number>({ maxItems: 2, lingerMs: 50 }, (items) => {
    handedOver.push(items)
    if (items.includes(1)) batcher.add(3)
  })
  batcher.add(1)
  batcher.add(2)
  vi.advanceTimersByTime(50)
  expect(handedOver).toEqual([[1, 2], [3]])
})
