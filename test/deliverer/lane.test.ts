import { expect, test } from 'vitest'
import { createLane } from '../../deliverer/lane.ts'
import type { Taken } from '../../kafka/consume.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { aDelivery } from '../helpers/events.ts'

function record(offset: number, owned = true): Taken<Delivery> & { released: number } {
  const taken = {
    topic: 'deliveries',
    partition: 0,
    offset,
    timestamp: 0,
    key: 'k',
    value: aDelivery(),
    released: 0,
    settle: () => undefined,
    owned: () => owned,
    release: () => void taken.released++,
    park: () => undefined,
  }
  return taken
}

test('starts in the order of arrival, never more at once than there are slots', async () => {
  const started: number[] = []
  const ends: (() => void)[] = []
  const lane = createLane({
    slots: 2,
    attempt: (taken) => {
      started.push(taken.offset)
      return new Promise((resolve) => ends.push(resolve))
    },
  })
  for (let offset = 0; offset < 4; offset++) lane.add(record(offset))
  expect([started, lane.running(), lane.waiting()]).toEqual([[0, 1], 2, 2])
  ends[1]?.()
  await expect.poll(() => started).toEqual([0, 1, 2])
  for (const end of ends) end()
  await expect.poll(() => started).toEqual([0, 1, 2, 3])
})

test('what waits for a slot is released, not begun, once its partition goes away', () => {
  const lane = createLane({ slots: 1, attempt: () => Promise.reject(new Error('must not be begun')) })
  const lost = record(0, false)
  lane.add(lost)
  expect([lost.released, lane.running(), lane.waiting()]).toEqual([1, 0, 0])
})
