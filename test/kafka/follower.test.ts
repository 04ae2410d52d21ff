import { expect, test, vi } from 'vitest'
import { Follower } from '../../kafka/tables/follower.ts'
import { connectionOf } from '../helpers/kafkajs.ts'

test('a reader of a topic that crashes starts again, unless it was closed meanwhile', async () => {
  type Retry = { restartOnFailure?: (error: Error) => Promise<boolean> }
  const retries: Retry[] = []
  const listeners = new Map<string, (of: { payload: object }) => void>()
  const nothing = async () => {}
  const consumer = {
    events: { CRASH: 'crash' },
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
  const follower = new Follower({ ...options, kind: 'tail' })
  const error = new Error('no coordinator')
  const restarts = () => retries[0]?.restartOnFailure?.(error)
  expect(await restarts()).toBe(true)
  await follower.close()
  const restart = await restarts()
  expect(restart).toBe(false)
  listeners.get('crash')?.({ payload: { error, restart } })
  expect(onFatal).not.toHaveBeenCalled()
})
