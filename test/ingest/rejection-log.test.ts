import { expect, test } from 'vitest'
import { createRejectionLog } from '../../ingest/rejection-log.ts'
import type { Produced } from '../../kafka/produce/produce.ts'
import { until } from '../helpers/until.ts'

const WAIT_MS = 100

const records = [{ topic: 'events.rejected', key: 'shop', value: 'x' }]

function aLog(outcome: Produced | Promise<Produced>, { stalledMs = 0, unwritableMs = 0 } = {}) {
  const told: (number | string)[] = []
  const log = createRejectionLog({
    producer: { produce: async () => outcome, stalledMs: () => stalledMs, unwritableMs: () => unwritableMs },
    losses: { lost: (count) => void told.push(count), written: () => void told.push('written') },
    waitMs: WAIT_MS,
  })
  let over = false
  void log(records).then(() => {
    over = true
  })
  return { told, isOver: () => over }
}

const rested = () => new Promise(setImmediate)
const never = new Promise<never>(() => undefined)

test('waits for the write, with a limit', async () => {
  const began = performance.now()
  const { isOver } = aLog(never)
  await until(isOver)
  // a timer may fire a little early
  expect(performance.now() - began).toBeGreaterThan(WAIT_MS - 5)
})

test.each([
  ['the topic has been stalled', { stalledMs: WAIT_MS }],
  ['records have waited for an unwritable partition', { unwritableMs: WAIT_MS }],
])('does not wait when %s that long', async (_, producer) => {
  const { isOver } = aLog(never, producer)
  await rested()
  expect(isOver()).toBe(true)
})

test.each<[Produced, number | string]>([
  ['acked', 'written'],
  ['full', 1],
  ['unknown', 1],
  ['refused', 1],
])('a record that is %s is reported as %s', async (outcome, told) => {
  const log = aLog(outcome)
  await rested()
  expect(log.told).toEqual([told])
})
