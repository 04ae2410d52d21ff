import { expect, test } from 'vitest'
import { clientOf, gate, numbersOf, startService, thrownBy, track } from './service.ts'

test('past maxQueue a call throws, and what was taken is sent', async () => {
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

test('past maxQueueBytes as well', async () => {
  const { analytics } = clientOf(await startService(), { maxQueueBytes: 40_000 })
  const large = { ...track(0), context: { text: 'x'.repeat(30_000) } }
  analytics.track(large)
  expect(thrownBy(() => analytics.track(large))).toMatchObject({
    code: 'queue_full',
    message: expect.stringMatching(/maxQueueBytes/),
  })
  analytics.track(track(1))
})

test('a producer that waits for room makes any number of calls, in order, and none is refused', async () => {
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

test('so do several, when they try again after queue_full', async () => {
  const service = await startService()
  const { analytics } = clientOf(service, { maxQueue: 10 })
  const produce = async (first: number) => {
    for (let number = first; number < 400; number += 4) {
      for (let taken = false; !taken; ) {
        await analytics.room()
        try {
          analytics.track(track(number))
          taken = true
        } catch (error) {
          expect(error).toMatchObject({ code: 'queue_full' })
        }
      }
    }
  }
  await Promise.all([0, 1, 2, 3].map(produce))
  await analytics.flush()
  const numbers = numbersOf(service.calls()).sort((a, b) => a - b)
  expect(numbers).toEqual(Array.from({ length: 400 }, (_, number) => number))
})
