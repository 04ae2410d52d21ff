import { expect, test } from 'vitest'
import { clientOf, gate, numbersOf, startService, thrownBy, track } from './service.ts'

test('beyond maxQueue a call throws, and queued calls are sent', async () => {
  const { opened, open } = gate()
  const service = await startService(async () => {
    await opened
    return {}
  })
  const { analytics, failures } = clientOf(service, { maxQueue: 3 })
  for (const number of [0, 1, 2]) analytics.track(track(number))
  const error = thrownBy(() => analytics.track(track(3)))
  expect(error).toMatchObject({
    name: 'AnalyticsError',
    code: 'queue_full',
    message: expect.stringMatching(/maxQueue/),
  })
  const room = analytics.room()
  open()
  await room
  analytics.track(track(4))
  await analytics.flush()
  expect(numbersOf(service.calls())).toEqual([0, 1, 2, 4])
  expect(failures).toEqual([])
})

test('beyond maxQueueBytes too', async () => {
  const { analytics } = clientOf(await startService(), { maxQueueBytes: 40_000 })
  const large = { ...track(0), context: { text: 'x'.repeat(30_000) } }
  analytics.track(large)
  expect(thrownBy(() => analytics.track(large))).toMatchObject({
    code: 'queue_full',
    message: expect.stringMatching(/maxQueueBytes/),
  })
  analytics.track(track(1))
})

test('a producer that waits for room makes any number of calls, in order, and none throws', async () => {
  const service = await startService()
  const { analytics, failures } = clientOf(service, { maxQueue: 100 })
  for (let number = 0; number < 2_000; number++) {
    await analytics.room()
    analytics.track(track(number))
  }
  await analytics.flush()
  expect(numbersOf(service.calls())).toEqual(Array.from({ length: 2_000 }, (_, number) => number))
  expect(failures).toEqual([])
})

test.each([
  ['calls', { maxQueue: 10 }],
  ['bytes', { maxQueueBytes: 40_000 }],
])('so do many at once, and none is refused, where the queue is bounded by %s', async (_by, bound) => {
  const PRODUCERS = 50
  const service = await startService()
  const { analytics, failures } = clientOf(service, bound)
  const text = 'x'.repeat(2_000)
  const produce = async (first: number) => {
    for (let number = first; number < 400; number += PRODUCERS) {
      await analytics.room()
      analytics.track({ ...track(number), context: { text } })
    }
  }
  await Promise.all(Array.from({ length: PRODUCERS }, (_, first) => produce(first)))
  await analytics.flush()
  const numbers = numbersOf(service.calls()).sort((a, b) => a - b)
  expect(numbers).toEqual(Array.from({ length: 400 }, (_, number) => number))
  expect(failures).toEqual([])
})
