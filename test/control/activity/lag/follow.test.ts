import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { followLag, observationsFor } from '../../../../control/activity/lag/follow.ts'
import type { Bounds, Offsets } from '../../../../kafka/admin/offsets.ts'
import { until } from '../../../helpers/until.ts'
import { aReading } from '../../lag-in-memory.ts'

const EVERY_MS = 20

/** Ten unsettled records. `answer` replaces Kafka. @param staleMs default: longer than any wait here */
function followed(answer: () => Promise<Partial<Bounds>> = async () => ({}), staleMs = 600_000) {
  const failures: unknown[] = []
  let [opened, open, observations, underWay, most] = [0, 0, 0, 0, 0]
  const offsets = (): Offsets => ({
    topics: async () => ['events'],
    committed: async () => [{ topic: 'events', partition: 0, offset: 0, metadata: '' }],
    owned: async () => new Map(),
    async bounds() {
      observations += 1
      underWay += 1
      most = Math.max(most, underWay)
      const bounds = await answer().finally(() => {
        underWay -= 1
      })
      return [{ partition: 0, low: 0, end: 10, ...bounds }]
    },
    // all came between twenty and ten seconds ago
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
    groupTopics: (topics) => topics.map((topic) => aReading({ topic })),
    required: ['events', 'deliveries'],
    onFailed: (error) => failures.push(error),
    everyMs: EVERY_MS,
    observations: 3,
    staleMs,
  })
  onTestFinished(lag.close)
  return {
    lag,
    failures,
    opened: () => opened,
    open: () => open,
    observations: () => observations,
    most: () => most,
    status: () => lag.latest()?.items[0]?.status,
  }
}

test('nothing is reported before the first observation, then its result', async () => {
  const { lag } = followed()
  expect([lag.isLoaded(), lag.latest()]).toEqual([false, undefined])
  await lag.loaded
  expect([lag.isLoaded(), lag.latest()?.items]).toMatchObject([true, [{ group: 'router', end: 10, lag: 10 }]])
})

test('topics that do not exist are named', async () => {
  const { lag } = followed()
  await lag.loaded
  expect(lag.latest()?.missing).toEqual(['deliveries'])
})

test('the first observation knows the age of records that came before it', async () => {
  const { lag } = followed()
  await lag.loaded
  const seconds = lag.latest()?.items[0]?.lagSeconds
  expect(seconds).toBeGreaterThan(19)
  expect(seconds).toBeLessThan(30)
})

test('observations run one after the other, at most once per interval, and each is reported', async () => {
  const began = performance.now()
  const { lag, observations, status } = followed()
  await lag.loaded
  const first = lag.latest()?.at ?? 0
  await until(() => observations() >= 10)
  // not ten: the first timer counts from the start of this turn of the event loop
  expect(performance.now() - began).toBeGreaterThan(8 * EVERY_MS)
  expect(lag.latest()?.at).toBeGreaterThan(first)
  expect(status()).toBe('stop')
})

test('the next observation waits for a slow one: two never overlap', async () => {
  let answer = Promise.withResolvers<Partial<Bounds>>()
  const { observations, most } = followed(() => answer.promise)
  await until(() => observations() === 1)
  await sleep(5 * EVERY_MS)
  expect(observations()).toBe(1)
  const { resolve } = answer
  answer = Promise.withResolvers()
  resolve({})
  await until(() => observations() === 2)
  expect(most()).toBe(1)
  answer.resolve({})
})

test('a failed observation is reported, the next has a new connection, and earlier ones still count', async () => {
  let answer = async (): Promise<object> => ({})
  const { failures, opened, open, lag, status } = followed(() => answer())
  await until(() => status() === 'stop')
  expect(opened()).toBe(1)
  answer = () => Promise.reject(new Error('away'))
  await until(() => failures.length > 1)
  const at = lag.latest()?.at ?? 0
  const { promise: next, resolve } = Promise.withResolvers<object>()
  onTestFinished(() => resolve({}))
  // one of the three observations that decide the status
  answer = async () => {
    answer = () => next
    return {}
  }
  await until(() => (lag.latest()?.at ?? 0) > at)
  expect([failures[0], open(), status()]).toEqual([new Error('away'), 1, 'stop'])
  expect(opened()).toBe(1 + failures.length)
})

/** Kafka, until it fails. */
function broker() {
  let isAway = false
  return {
    setAway: (away: boolean) => {
      isAway = away
    },
    answer: async () => {
      if (isAway) throw new Error('away')
      return {}
    },
  }
}

test('an observation from a while ago is still reported', async () => {
  const { setAway, answer } = broker()
  const { lag, failures } = followed(answer)
  await lag.loaded
  setAway(true)
  await until(() => failures.length > 1)
  expect(lag.latest()).toBeDefined()
})

test('an observation that is too old is not reported, until Kafka answers again', async () => {
  const { setAway, answer } = broker()
  const { lag } = followed(answer, 200)
  await lag.loaded
  setAway(true)
  await until(() => lag.latest() === undefined)
  expect(lag.isLoaded()).toBe(true)
  setAway(false)
  await until(() => lag.latest())
})

test('once closed, it observes no more, holds no connection, and reports no failure', async () => {
  const { promise, reject } = Promise.withResolvers<Partial<Bounds>>()
  const { lag, observations, open, failures } = followed(() => promise)
  await until(() => observations() === 1)
  const closed = lag.close()
  reject(new Error('disconnected'))
  await closed
  await sleep(3 * EVERY_MS)
  expect([observations(), open(), failures]).toEqual([1, 0, []])
})

test('once closed between two observations, it holds no connection', async () => {
  const { lag, open } = followed()
  await lag.loaded
  expect(open()).toBe(1)
  await lag.close()
  expect(open()).toBe(0)
})

test('a partition is not called stalled while one attempt after another may hold its offset', () => {
  // ten observations are 20 s
  expect(observationsFor(10_000)).toBe(10)
  expect(observationsFor(60_000)).toBe(60)
})
