import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { followLag } from '../../control/lag/follow.ts'
import type { Bounds, Offsets } from '../../kafka/offsets.ts'
import { until } from '../helpers/until.ts'
import { aReading } from './lag-in-memory.ts'

const EVERY_MS = 20
const STALE_MS = 200

/** Ten records, of which none is settled. `answer` stands in for Kafka at each look. */
function followed(answer: () => Promise<Partial<Bounds>> = async () => ({})) {
  const failures: unknown[] = []
  let [opened, open, looks, underWay, most] = [0, 0, 0, 0, 0]
  const offsets = (): Offsets => ({
    topics: async () => ['events'],
    committed: async () => [{ topic: 'events', partition: 0, offset: 0, ahead: '' }],
    owned: async () => new Map(),
    async bounds() {
      looks += 1
      underWay += 1
      most = Math.max(most, underWay)
      const bounds = await answer().finally(() => {
        underWay -= 1
      })
      return [{ partition: 0, low: 0, end: 10, ...bounds }]
    },
    // all of it came between twenty and ten seconds ago
    at: async (_, time) => [{ partition: 0, offset: time < Date.now() - 15_000 ? 0 : 10 }],
    async close() {
      open -= 1
    },
  })
  const lag = followLag({
    async open() {
      opened += 1
      open += 1
      return offsets()
    },
    readings: (topics) => topics.map((topic) => aReading({ topic })),
    onFailed: (error) => failures.push(error),
    everyMs: EVERY_MS,
    looks: 3,
    staleMs: STALE_MS,
  })
  onTestFinished(lag.close)
  return {
    lag,
    failures,
    opened: () => opened,
    open: () => open,
    looks: () => looks,
    most: () => most,
    status: () => lag.latest()?.items[0]?.status,
  }
}

test('nothing is told before the first look, then what it has shown', async () => {
  const { lag } = followed()
  expect([lag.isLoaded(), lag.latest()]).toEqual([false, undefined])
  await lag.loaded
  expect([lag.isLoaded(), lag.latest()?.items]).toMatchObject([true, [{ group: 'router', end: 10, lag: 10 }]])
})

test('the first look says how long that has waited which was there before', async () => {
  const { lag } = followed()
  await lag.loaded
  expect(lag.latest()?.items[0]?.lagSeconds).toBeCloseTo(19.5, 0)
})

test('one look after the other, not more often than told, and each is shown', async () => {
  const { lag, looks, status } = followed()
  const began = performance.now()
  await lag.loaded
  const first = lag.latest()?.at ?? 0
  await until(() => looks() >= 10)
  expect(performance.now() - began).toBeGreaterThan(9 * EVERY_MS - 5)
  expect(lag.latest()?.at).toBeGreaterThan(first)
  expect(status()).toBe('stop')
})

test('a look that takes long is waited for: there are never two at once', async () => {
  let answer = Promise.withResolvers<Partial<Bounds>>()
  const { looks, most } = followed(() => answer.promise)
  await until(() => looks() === 1)
  await sleep(5 * EVERY_MS)
  expect(looks()).toBe(1)
  const { resolve } = answer
  answer = Promise.withResolvers()
  resolve({})
  await until(() => looks() === 2)
  expect(most()).toBe(1)
  answer.resolve({})
})

test('a look that fails is told of, and the next has a new connection; what was seen before counts on', async () => {
  let isAway = false
  const { failures, opened, open, looks, lag, status } = followed(async () => {
    if (isAway) throw new Error('away')
    return {}
  })
  await until(() => status() === 'stop')
  expect(opened()).toBe(1)
  isAway = true
  await until(() => failures.length > 1)
  isAway = false
  const [before, at] = [looks(), lag.latest()?.at ?? 0]
  await until(() => (lag.latest()?.at ?? 0) > at)
  expect([failures[0], open(), status()]).toEqual([new Error('away'), 1, 'stop'])
  expect(opened()).toBe(1 + failures.length)
  expect(looks()).toBeLessThan(before + 3)
})

test('what was seen too long ago is not told any more, until Kafka answers again', async () => {
  let isAway = false
  const { lag } = followed(async () => {
    if (isAway) throw new Error('away')
    return {}
  })
  await lag.loaded
  isAway = true
  await sleep(2 * EVERY_MS)
  expect(lag.latest()).toBeDefined()
  await until(() => lag.latest() === undefined)
  expect(lag.isLoaded()).toBe(true)
  isAway = false
  await until(() => lag.latest())
})

test('closed, it looks no more, holds no connection, and tells of no failure', async () => {
  const { promise, reject } = Promise.withResolvers<Partial<Bounds>>()
  const { lag, looks, open, failures } = followed(() => promise)
  await until(() => looks() === 1)
  const closed = lag.close()
  reject(new Error('disconnected'))
  await closed
  await sleep(3 * EVERY_MS)
  expect([looks(), open(), failures]).toEqual([1, 0, []])
})

test('closed between two looks it holds no connection either', async () => {
  const { lag, open } = followed()
  await lag.loaded
  expect(open()).toBe(1)
  await lag.close()
  expect(open()).toBe(0)
})
