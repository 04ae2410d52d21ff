import { expect, test, vi } from 'vitest'
import { IDLE_WAIT_MS } from '../../kafka/patches/consumer/fetch-wait.ts'
import { Follower } from '../../kafka/tables/follower.ts'
import { connectionOf } from '../helpers/kafkajs.ts'

type Retry = { restartOnFailure?: (error: Error) => Promise<boolean> }

/** On a client that does nothing. */
function aFollower(kind: 'table' | 'tail') {
  const retries: Retry[] = []
  const listeners = new Map<string, (of: { payload: object }) => void>()
  const nothing = async () => {}
  const consumer = {
    events: { CRASH: 'crash', FETCH: 'fetch' },
    on: (event: string, listener: (of: { payload: object }) => void) => void listeners.set(event, listener),
    disconnect: nothing,
  }
  const kafka = {
    admin: () => ({ deleteGroups: nothing, disconnect: nothing }),
    consumer({ retry }: { retry: Retry }) {
      retries.push(retry)
      return consumer
    },
  }
  const onFatal = vi.fn()
  const options = {
    connection: connectionOf(kafka),
    topics: ['work'],
    config: {},
    onRecord: () => undefined,
    onFatal,
  }
  const emit = (event: string, payload: object) => listeners.get(event)?.({ payload })
  return { follower: new Follower({ ...options, kind }), retries, onFatal, emit }
}

test('a reader of a topic that crashes starts again, unless it was closed meanwhile', async () => {
  const { follower, retries, onFatal, emit } = aFollower('tail')
  const error = new Error('no coordinator')
  const restarts = () => retries[0]?.restartOnFailure?.(error)
  expect(await restarts()).toBe(true)
  await follower.close()
  const restart = await restarts()
  expect(restart).toBe(false)
  emit('crash', { error, restart })
  expect(onFatal).not.toHaveBeenCalled()
})

test('an answer that waited while the process was paused does not show what is new', () => {
  const { follower, emit } = aFollower('table')
  const before = performance.now()
  emit('fetch', { numberOfBatches: 1, duration: IDLE_WAIT_MS })
  expect(follower.fetchedAt).toBeGreaterThanOrEqual(before)
  emit('fetch', { numberOfBatches: 1, duration: IDLE_WAIT_MS + 60_000 })
  expect(follower.fetchedAt).toBeLessThan(performance.now() - 59_000)
})

test('an answer that comes at once is not of the future, and one without partitions shows nothing', () => {
  const { follower, emit } = aFollower('table')
  emit('fetch', { numberOfBatches: 0, duration: 1 })
  expect(follower.fetchedAt).toBe(0)
  emit('fetch', { numberOfBatches: 1, duration: 1 })
  expect(follower.fetchedAt).toBeLessThanOrEqual(performance.now())
})
