import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { consume } from '../../kafka/consume.ts'
import type { Codec, Decoded } from '../../schemas/codec.ts'

const GROUP_JOIN = 'joined'

/**
 * A consumer of topic `work`, of which one partition is its own. What kafkajs would do is done by the test: that a group is joined while a batch
 * is at work needs several brokers, and luck.
 */
async function consuming(decode: () => Promise<Decoded<string>>) {
  const listeners = new Map<string, (of: { payload: object }) => void>()
  type Batches = { eachBatch(of: object): Promise<void> }
  let batches: Batches = { eachBatch: async () => {} }
  const nothing = async () => {}
  const client = {
    events: { GROUP_JOIN, CRASH: 'crash' },
    on: (event: string, listener: (of: { payload: object }) => void) => void listeners.set(event, listener),
    ...{ connect: nothing, subscribe: nothing, disconnect: nothing, commitOffsets: nothing },
    ...{ pause() {}, resume() {}, paused: () => [] },
    run: async (given: Batches) => {
      batches = given
    },
  }
  const admin = {
    ...{ connect: nothing, disconnect: nothing },
    fetchOffsets: async () => [{ topic: 'work', partitions: [{ partition: 0, offset: '0', metadata: '' }] }],
  }
  // its brokers tell no leader epochs
  const cluster = {
    brokerPool: { withBroker: (ask: (of: object) => unknown) => ask({ broker: { versions: {} } }) },
  }
  type Assigning = { partitionAssigners: ((of: object) => unknown)[] }
  function consumer({ partitionAssigners }: Assigning) {
    for (const assigner of partitionAssigners) assigner({ cluster })
    return client
  }
  const kafka = { consumer, admin: () => admin }
  const same = (name: string) => name
  const connection = {
    kafka,
    named: same,
    plain: same,
    log: pino({ level: 'silent' }),
  } as unknown as Connection
  const handle = vi.fn(() => undefined)
  const codec = { decode } as unknown as Codec<string>
  const producer = { produce: async () => 'acked' as const }
  const opened = await consume({
    connection,
    group: 'g',
    topics: ['work'],
    codec,
    handle,
    producer,
    onFatal: () => {},
  } as never)
  onTestFinished(() => opened.close(0))
  return {
    handle,
    join: () => listeners.get(GROUP_JOIN)?.({ payload: { memberAssignment: { work: [0] } } }),
    batch: (resolveOffset: (offset: string) => void, offset = '0') =>
      batches.eachBatch({
        batch: {
          topic: 'work',
          partition: 0,
          messages: [{ offset, key: null, value: Buffer.from('1'), timestamp: '0', headers: {} }],
        },
        ...{ resolveOffset, isRunning: () => true, isStale: () => false },
      }),
  }
}

test('a batch is not gone on with when its group is joined anew while one of its records is decoded', async () => {
  const decoding = Promise.withResolvers<Decoded<string>>()
  const asked = Promise.withResolvers<void>()
  const { handle, join, batch } = await consuming(() => {
    asked.resolve()
    return decoding.promise
  })
  join()
  const resolved = vi.fn()
  const taken = batch(resolved)
  await asked.promise
  join()
  decoding.resolve({ ok: true, value: '1' })
  await taken
  expect([handle.mock.calls, resolved.mock.calls]).toEqual([[], []])
})

test('the same without a join is', async () => {
  const { handle, join, batch } = await consuming(async () => ({ ok: true, value: '1' }))
  join()
  const resolved = vi.fn()
  await batch(resolved)
  expect([handle.mock.calls.length, resolved.mock.calls]).toEqual([1, [['0']]])
})
