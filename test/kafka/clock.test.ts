import { afterEach, expect, type TestContext, test, vi } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { createCommitter } from '../../kafka/consume/commits.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { bySteps, setClock } from '../helpers/clock.ts'
import { connectionOf } from '../helpers/kafkajs.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND

afterEach(() => void vi.useRealTimers())

bySteps('a produce deadline holds when the clock is set %s', async ([_, byMs]) => {
  vi.useFakeTimers()
  const sending = {
    connect: async () => {},
    disconnect: async () => {},
    sendBatch: () => new Promise(() => {}),
  }
  const producer = await createProducer(connectionOf({ producer: () => sending }))
  let outcome: string | undefined
  const record = { topic: 'work', key: 'k', value: 'v' }
  void producer.produce([record], { deadlineMs: 10 * SECOND }).then((it) => {
    outcome = it
  })
  setClock(byMs)
  await vi.advanceTimersByTimeAsync(9 * SECOND)
  expect(outcome).toBeUndefined()
  await vi.advanceTimersByTimeAsync(2 * SECOND)
  expect(outcome).toBe('unknown')
})

bySteps('the duration of failing commits is right when the clock is set %s', async ([_, byMs]) => {
  vi.useFakeTimers()
  const add = vi.fn()
  const log = { debug: () => undefined }
  const tracker = {
    position: () => ({ offset: 1, ahead: '' }),
    next: () => ({ offset: 1, time: undefined }),
  }
  const commit = createCommitter({
    connection: { log: log as unknown as Connection['log'], failures: { add } },
    groupId: 'work',
    consumer: { commitOffsets: () => Promise.reject(new Error('away')) },
    known: () => undefined,
    dirty: () => [{ topic: 'work', partition: 0, tracker, dirty: true }],
  })
  const since = performance.now()
  await commit()
  setClock(byMs)
  vi.advanceTimersByTime(14 * SECOND)
  await commit()
  expect(add.mock.calls.map(([failure]) => failure.since)).toEqual([since, since])
})

async function table({ onTestFinished }: TestContext) {
  const read: ((of: { payload: object }) => void)[] = []
  const nothing = async () => {}
  const kafka = {
    admin: () => ({
      connect: nothing,
      disconnect: nothing,
      deleteGroups: nothing,
      fetchTopicOffsets: () => [],
    }),
    consumer: () => ({
      ...{ connect: nothing, disconnect: nothing, subscribe: nothing, run: nothing },
      events: { END_BATCH_PROCESS: 'read' },
      on: (event: string, listener: (typeof read)[0]) => void (event === 'read' && read.push(listener)),
    }),
  }
  const opened = await openTable({ connection: connectionOf(kafka), topic: 'config', onFatal: () => {} })
  onTestFinished(() => opened.close())
  const reads = (lastOffset: number) => {
    for (const listener of read) listener({ payload: { topic: 'config', partition: 0, lastOffset } })
  }
  return { reached: opened.reached, reads }
}

test('waiting for a table takes no longer when the clock is set back', async (context) => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const { reached } = await table(context)
  const waiting = reached({ partition: 0, offset: 5 }, 50)
  setClock(-HOUR)
  await expect(waiting).rejects.toThrow('has not caught up within 50 ms')
})

test('waiting for a table ends no sooner when the clock is set forward', async (context) => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const { reached, reads } = await table(context)
  const waiting = reached({ partition: 0, offset: 5 })
  setClock(HOUR)
  setTimeout(() => reads(5), 20)
  await expect(waiting).resolves.toBeUndefined()
})
