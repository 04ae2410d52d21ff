import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished, test, vi } from 'vitest'
import { startConsumers } from '../../deliverer/consumers.ts'
import { createLane } from '../../deliverer/lane/lane.ts'
import { createWebhooks } from '../../delivery/webhooks.ts'
import { rungTopic } from '../../schemas/topics.ts'
import { connectionOf } from '../helpers/kafkajs.ts'

const nothing = async () => {}

/** The test plays Kafka: it says which rungs exist, and when a consumer has joined. */
function aKafka() {
  const state = { rungs: [rungTopic('5s')], joins: nothing }
  const open = new Set<object>()
  const consumer = () => {
    const client = {
      events: { GROUP_JOIN: 'joined', CRASH: 'crash' },
      ...{ on: nothing, connect: nothing, subscribe: nothing, commitOffsets: nothing, paused: () => [] },
      async run() {
        await state.joins()
        open.add(client)
      },
      disconnect: async () => void open.delete(client),
    }
    return client
  }
  const admin = { connect: nothing, disconnect: nothing, listTopics: async () => state.rungs }
  return { state, open, kafka: { consumer, admin: () => admin } }
}

test('a process that ends while it begins to read a new rung leaves no consumer open', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { state, open, kafka } = aKafka()
  const lane = createLane({ slots: 4, webhooks: createWebhooks(), isBusy: () => false, now: () => 0 })
  const consumers = await startConsumers({
    connection: connectionOf(kafka),
    producer: { produce: async () => 'acked', queuedBytes: () => 0 },
    storage: { shortage: () => undefined },
    codec: { decode: () => ({ ok: false, reason: 'undecodable', message: '' }) },
    handle: () => () => undefined,
    onCopy: () => undefined,
    lanes: { first: lane, retry: lane },
    onFatal: () => undefined,
    tracer: undefined,
  })
  const joining = Promise.withResolvers<void>()
  const joins = vi.fn(() => joining.promise)
  Object.assign(state, { rungs: [rungTopic('5s'), rungTopic('7s')], joins })
  vi.advanceTimersByTime(10_000)
  await vi.waitUntil(() => joins.mock.calls.length > 0)
  await Promise.all(consumers.map((consumer) => consumer.close(0)))
  // the group took longer than a process waits to close
  joining.resolve()
  await nextTurn()
  await vi.waitUntil(() => open.size === 0)
})
