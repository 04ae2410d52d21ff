import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRejectionLog } from '../../ingest/rejections.ts'
import type { Produced } from '../../kafka/pending.ts'

// fake timers do not reach this module by themselves
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms)),
}))
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const records = [{ topic: 'events.rejected', key: 'shop', value: 'x' }]

function aLog(outcome: Produced | Promise<Produced>, stalledMs = 0) {
  const told: (number | string)[] = []
  const log = createRejectionLog({
    producer: { produce: async () => outcome, stalledMs: () => stalledMs },
    losses: { lost: (count) => void told.push(count), written: () => void told.push('written') },
  })
  let over = false
  void log(records).then(() => {
    over = true
  })
  return { told, isOver: () => over }
}

const never = new Promise<never>(() => undefined)

test('what is written is waited for, a second at most', async () => {
  const { isOver } = aLog(never)
  await vi.advanceTimersByTimeAsync(999)
  expect(isOver()).toBe(false)
  await vi.advanceTimersByTimeAsync(2)
  expect(isOver()).toBe(true)
})

test('it is not waited for once the topic has taken nothing for a second', async () => {
  const { isOver } = aLog(never, 1_000)
  await vi.advanceTimersByTimeAsync(0)
  expect(isOver()).toBe(true)
})

test.each<[Produced, number | string]>([
  ['acked', 'written'],
  ['full', 1],
  ['unknown', 1],
  ['refused', 1],
])('what is %s is told as %s', async (outcome, told) => {
  const log = aLog(outcome)
  await vi.advanceTimersByTimeAsync(0)
  expect(log.told).toEqual([told])
})
