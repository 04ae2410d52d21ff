import { createRequire } from 'node:module'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { FetchPosition, LogFault } from '../../kafka/log-faults.ts'
import { watchLog } from '../../kafka/patches/log-watch/watch.ts'
import { aFetchingMember } from '../helpers/kafkajs.ts'

const require = createRequire(import.meta.url)
const Broker = require('kafkajs/src/broker')
const Runner = require('kafkajs/src/consumer/runner')
const { protocol } = require('kafkajs/src/protocol/requests/fetch')

const ID = Buffer.alloc(16, 1)
const at = { topic: 'work', partition: 0 }
const record = { offset: '0', isControlRecord: false }
const oneRecord = {
  responses: [{ topicName: 'work', partitions: [{ partition: 0, highWatermark: '1', messages: [record] }] }],
}
const nothing = { responses: [] }

const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
const int32 = (value: number) => Buffer.concat([int16(value >> 16), int16(value & 65_535)])

/** Response to Metadata, version 12. */
const metadata = ({ epoch }: { epoch: number }) =>
  Buffer.concat([
    Buffer.from([0]),
    int32(0),
    Buffer.from([1, 0]),
    int32(1),
    Buffer.from([2, 0, 0, 5, ...Buffer.from('work'), ...ID, 0, 2, 0, 0]),
    int32(0),
    int32(1),
    int32(epoch),
    Buffer.from([1, 1, 1, 0]),
    int32(0),
    Buffer.from([0, 0]),
  ])

/** Response to OffsetForLeaderEpoch, version 3. */
function epochEnd(end: number): Buffer {
  const topic = Buffer.from('work')
  const offset = Buffer.alloc(8)
  offset.writeBigInt64BE(BigInt(end))
  return Buffer.concat([
    int32(0),
    int32(1),
    int16(topic.length),
    topic,
    int32(1),
    int16(0),
    int32(0),
    int32(0),
    offset,
  ])
}

/** `epoch`: of the broker that is asked. `end`: of the previous epoch. */
function world() {
  const state = {
    epoch: 5,
    end: 500,
    maxVersion: 12,
    low: 0,
    high: 500,
    position: { offset: 480 } as FetchPosition,
    asking: async () => undefined as unknown,
    fetched: async (): Promise<object> => nothing,
  }
  const broker = {
    __proto__: Broker.prototype,
    get versions() {
      return { 3: { maxVersion: state.maxVersion }, 23: { maxVersion: 4 } }
    },
    connectionPool: {
      async send({ request }: { request: { apiKey: number } }) {
        await state.asking()
        return { bytes: request.apiKey === 3 ? metadata(state) : epochEnd(state.end) }
      },
    },
    fetch: (_: object): Promise<object> => state.fetched(),
  }
  const reader = aFetchingMember('work', broker.fetch)
  const { cluster } = reader
  Object.assign(cluster, {
    brokerPool: { withBroker: (ask: (of: object) => unknown) => ask({ broker }) },
    findBroker: async () => broker,
    refreshMetadata: async () => undefined,
    fetchTopicsOffset: async ([{ fromBeginning }]: [{ fromBeginning?: boolean }]) => [
      { partitions: [{ offset: String(fromBeginning === false ? state.high : state.low) }] },
    ],
  })
  const faults: LogFault[] = []
  const seeks: string[] = []
  const watch = watchLog({
    log: pino({ level: 'silent' }),
    fetchPosition: () => state.position,
    onFault: (fault) => void faults.push(fault),
    seek: ({ offset }) => void seeks.push(offset),
  })
  const assigner = watch.assigning((config) => config as never)
  assigner({ cluster } as never)
  const outOfRange = () => reader.recoverFromOffsetOutOfRange(at)
  return { state, broker, reader, watch, faults, seeks, fetch: () => reader.fetch('1'), outOfRange }
}

const passes = performance.now.bind(performance)
let laterMs = 0
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => passes() + laterMs))
afterEach(() => void vi.restoreAllMocks())

function atTheNextCheck(): void {
  laterMs += 4_001
}

test('records read during a comparison count: they may be after the cut', async () => {
  const { state, watch, faults, seeks, fetch } = world()
  await fetch()
  expect(watch.known('work', 0)?.epoch).toBe(5)
  Object.assign(state, {
    epoch: 6,
    // a batch of the old leader is taken meanwhile
    asking: async () => {
      state.position = { offset: 520 }
    },
  })
  atTheNextCheck()
  await fetch()
  await vi.waitFor(() => expect(watch.known('work', 0)?.epoch).toBe(6))
  expect(faults).toMatchObject([{ cause: 'truncated', offset: 520, to: 500 }])
  expect(seeks).toEqual(['500'])
})

test('batches fetched from the previous leader are not read under the new one', async () => {
  const { state, watch, faults, fetch } = world()
  await fetch()
  const { promise, resolve } = Promise.withResolvers<object>()
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
  state.fetched = () => {
    isAsked()
    return promise
  }
  const slow = fetch()
  await asked
  state.epoch = 6
  atTheNextCheck()
  state.fetched = async () => nothing
  await fetch()
  await vi.waitFor(() => expect(watch.known('work', 0)?.epoch).toBe(6))
  resolve(oneRecord)
  expect(await slow).toEqual([])
  state.fetched = async () => oneRecord
  expect(await fetch()).toMatchObject([at])
  expect(faults).toEqual([])
})

test('a cut of unread records is reported too', async () => {
  const { state, watch, faults, fetch } = world()
  state.position = { offset: 480, end: 600 }
  await fetch()
  state.epoch = 6
  atTheNextCheck()
  await fetch()
  await vi.waitFor(() => expect(watch.known('work', 0)?.epoch).toBe(6))
  expect(faults).toMatchObject([{ cause: 'truncated', offset: 480, to: 500 }])
})

test('a broker with an older epoch is behind the others: nothing counts as lost', async () => {
  const { state, watch, faults, fetch } = world()
  await fetch()
  Object.assign(state, { epoch: 4, end: -1 })
  atTheNextCheck()
  await fetch()
  Object.assign(state, { epoch: 5 })
  atTheNextCheck()
  await fetch()
  expect(faults).toEqual([])
  expect(watch.known('work', 0)?.epoch).toBe(5)
})

test('an older epoch from all brokers for half a minute means a restored cluster', async () => {
  const { state, watch, faults, fetch } = world()
  state.position = { offset: 480, time: 1_000_000 }
  await fetch()
  Object.assign(state, { epoch: 4, end: -1 })
  let seconds = 0
  for (; faults.length === 0; seconds += 4) {
    atTheNextCheck()
    await fetch()
    await new Promise(setImmediate)
  }
  expect(seconds).toBeGreaterThanOrEqual(30)
  expect(faults).toMatchObject([{ cause: 'truncated', offset: 480, to: 0 }])
  expect(watch.known('work', 0)?.epoch).toBe(4)
})

test('brokers without epochs refuse no fetch because of an epoch from another broker', async () => {
  const { state, watch, fetch } = world()
  await fetch()
  state.maxVersion = 11
  atTheNextCheck()
  await fetch()
  await vi.waitFor(() => expect(watch.known('work', 0)).toBeUndefined())
})

test('a broker that does not answer holds up no fetch from another', async () => {
  const { state, fetch } = world()
  await fetch()
  state.asking = () => new Promise(() => undefined)
  state.fetched = async () => oneRecord
  atTheNextCheck()
  expect(await fetch()).toMatchObject([at])
})

test('a record that has to be read again and was removed meanwhile is reported, and the rest is read', async () => {
  const { state, faults, seeks, fetch, outOfRange } = world()
  Object.assign(state, { position: { offset: 480, again: 100 }, low: 120 })
  await fetch()
  await outOfRange()
  expect(faults).toMatchObject([{ cause: 'removed', offset: 100, to: 120 }])
  expect(seeks).toEqual(['120'])
})

test('a reader that a join has moved before the log continues at its first unread record', async () => {
  const { state, faults, seeks, fetch, outOfRange } = world()
  Object.assign(state, { position: { offset: 480, again: 300 }, low: 120 })
  await fetch()
  await outOfRange()
  expect(faults).toEqual([])
  expect(seeks).toEqual(['300'])
})

test('a fetch request of kafkajs names the leader epoch of the last read', async () => {
  const { broker, fetch } = world()
  await fetch()
  const sent: Buffer[] = []
  const [send] = Object.getOwnPropertySymbols(Broker.prototype)
  Object.assign(broker, {
    lookupRequest: () => protocol({ version: 11 }),
    [send ?? '']: async ({ request }: { request: { encode(): Promise<{ buffer: Buffer }> } }) => {
      sent.push((await request.encode()).buffer)
      return { responses: [] }
    },
  })
  const topics = [
    {
      topic: 'work',
      partitions: [
        { partition: 7, fetchOffset: '0', maxBytes: 1 },
        { ...at, fetchOffset: '0', maxBytes: 1 },
      ],
    },
  ]
  await Broker.prototype.fetch.call(broker, { topics })
  // partition and epoch
  expect(sent[0]?.includes(Buffer.concat([int32(0), int32(5)]))).toBe(true)
  expect(sent[0]?.includes(Buffer.concat([int32(7), int32(-1)]))).toBe(true)
})

test("kafkajs's runner does not handle a batch whose partition was moved while it waited", async () => {
  const { state, reader, watch, fetch } = world()
  state.fetched = async () => oneRecord
  const [batch] = await fetch()
  let handled = 0
  const runner = {
    get running() {
      handled += 1
      return false
    },
    consumerGroup: reader,
    logger: { debug: () => undefined },
  }
  await Runner.prototype.handleBatch.call(runner, batch)
  expect(handled).toBe(1)
  watch.seek({ ...at, offset: 3 })
  await Runner.prototype.handleBatch.call(runner, batch)
  expect(handled).toBe(1)
})
