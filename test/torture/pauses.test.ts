import { expect, test } from 'vitest'
import { pausesIn, spreadOf } from '../../torture/cluster/report.ts'

const call = (messageId: string, madeAt: number, acceptedAt: number | undefined) => ({
  messageId,
  userId: 'u',
  madeAt,
  acceptedAt,
})
const arrival = (messageId: string, at: number) => ({
  ...{ webhook: '/one', destinationId: 'one', deliveryId: 'd' },
  messageId,
  at,
})

test('a phase has the calls that were made in it, wherever they ended', () => {
  const calls = [call('before', 90, 95), call('a', 100, 150), call('b', 199, 250)]
  const arrivals = [arrival('before', 110), arrival('a', 180), arrival('b', 1_250)]
  const found = pausesIn({ name: '', from: 100, to: 200 }, { calls, arrivals, destinations: ['one'] })
  expect(found.calls).toBe(2)
  expect(found.accept.max).toBe(51)
  expect(found.deliver.max).toBe(1_000)
  expect(found.gap).toBe(70)
})

test('what has not come is endless, what came again is counted', () => {
  const calls = [call('a', 0, 1), call('b', 0, 1)]
  const arrivals = [arrival('a', 5), arrival('a', 6)]
  const { deliver, again } = pausesIn(
    { name: '', from: 0, to: 10 },
    { calls, arrivals, destinations: ['one'] },
  )
  expect(deliver.max).toBe(Number.POSITIVE_INFINITY)
  expect(deliver.p50).toBe(4)
  expect(again).toBe(1)
})

test('percentiles are by nearest rank', () => {
  const figures = Array.from({ length: 1_000 }, (_, index) => 1_000 - index)
  expect(spreadOf(figures)).toEqual({ p50: 500, p99: 990, p999: 999, max: 1_000 })
})
