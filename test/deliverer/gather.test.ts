import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { gather } from '../../deliverer/attempt-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function aGathering() {
  const handedOver: (readonly number[])[] = []
  return { handedOver, ...gather<number>({ mostItems: 3, lingerMs: 50 }, (items) => handedOver.push(items)) }
}

test('what comes is handed over together, when the first of it has waited for long enough', () => {
  const { add, handedOver } = aGathering()
  add(1)
  vi.advanceTimersByTime(49)
  add(2)
  expect(handedOver).toEqual([])
  vi.advanceTimersByTime(1)
  expect(handedOver).toEqual([[1, 2]])
})

test('when enough is there nothing waits, and what comes then waits anew', () => {
  const { add, handedOver } = aGathering()
  add(1)
  vi.advanceTimersByTime(30)
  for (const item of [2, 3, 4]) add(item)
  expect(handedOver).toEqual([[1, 2, 3]])
  vi.advanceTimersByTime(20)
  expect(handedOver).toEqual([[1, 2, 3]])
  vi.advanceTimersByTime(30)
  expect(handedOver).toEqual([[1, 2, 3], [4]])
})

test('what is flushed is handed over once, and nothing is not handed over', () => {
  const { add, flush, handedOver } = aGathering()
  flush()
  add(1)
  flush()
  vi.advanceTimersByTime(100)
  expect(handedOver).toEqual([[1]])
})

test('what comes while something is handed over is not lost', () => {
  const handedOver: (readonly number[])[] = []
  const gathered = gather<number>({ mostItems: 2, lingerMs: 50 }, (items) => {
    handedOver.push(items)
    if (items.includes(1)) gathered.add(3)
  })
  gathered.add(1)
  gathered.add(2)
  vi.advanceTimersByTime(50)
  expect(handedOver).toEqual([[1, 2], [3]])
})
