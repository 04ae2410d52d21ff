import { expect, onTestFinished, test, vi } from 'vitest'
import { consume, loadOf } from '../../kafka/consume/consume.ts'
import type { ConsumerRecord, Decoded } from '../../kafka/consume/record.ts'
import { Tracker } from '../../kafka/consume/tracker.ts'
import type { Produced } from '../../kafka/produce/produce.ts'
import type { Codec } from '../../schemas/codec.ts'
import { connectionOf } from '../helpers/kafkajs.ts'

const GROUP_JOIN = 'joined'

type Answers = { outcome?: () => Produced | Promise<Produced>; committed?: () => Promise<unknown> }

/** One partition of `work`. The test plays kafkajs: with real brokers, a join while a batch is handled takes luck. */
async function consuming(
  decode: () => Decoded<string> | Promise<Decoded<string>>,
  { outcome = () => 'acked', committed = async () => undefined }: Answers = {},
) {
  const listeners = new Map<string, (of: { payload: object }) => void>()
  type Batches = { eachBatch(of: object): Promise<void> }
  let batches: Batches = { eachBatch: async () => {} }
  const nothing = async () => {}
  const disconnect = vi.fn(nothing)
  let isPaused = false
  const produced: object[] = []
  const client = {
    events: { GROUP_JOIN, CRASH: 'crash' },
    on: (event: string, listener: (of: { payload: object }) => void) => void listeners.set(event, listener),
    ...{ connect: nothing, subscribe: nothing, disconnect, commitOffsets: nothing },
    paused: () => [],
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
    },
    run: async (given: Batches) => {
      batches = given
    },
  }
  const admin = {
    ...{ connect: nothing, disconnect: nothing },
    async fetchOffsets() {
      await committed()
      return [{ topic: 'work', partitions: [{ partition: 0, offset: '0', metadata: '' }] }]
    },
  }
  // its brokers report no leader epochs
  const cluster = {
    brokerPool: { withBroker: (ask: (of: object) => unknown) => ask({ broker: { versions: {} } }) },
  }
  type Assigner = { protocol(of: object): object }
  type Config = {
    partitionAssigners: ((of: object) => Assigner)[]
    retry: { restartOnFailure?: (error: Error) => Promise<boolean> }
  }
  let restarts: Config['retry']['restartOnFailure']
  let assigners: Assigner[] = []
  function consumer({ partitionAssigners, retry }: Config) {
    restarts = retry.restartOnFailure
    assigners = partitionAssigners.map((assigner) => assigner({ cluster }))
    return client
  }
  const kafka = { consumer, admin: () => admin }
  const failed = vi.fn()
  const connection = { ...connectionOf(kafka), failures: { add: failed, reachableSince: () => undefined } }
  const handle = vi.fn((_record: ConsumerRecord<string>) => undefined)
  const codec = { decode } as unknown as Codec<string>
  const producer = {
    produce: async (records: object[]) => {
      produced.push(...records)
      return outcome()
    },
  }
  const onFatal = vi.fn()
  const opened = await consume({
    connection,
    group: 'g',
    topics: ['work'],
    codec,
    handle,
    producer,
    onFatal,
  } as never)
  onTestFinished(() => opened.close(0))
  return {
    handle,
    failed,
    produced,
    onFatal,
    loads: opened.loads,
    close: (drainMs = 0) => opened.close(drainMs),
    disconnect,
    /** The group rebalances, and the member is about to join again. */
    rejoin: () => expect(() => assigners[0]?.protocol({ topics: ['work'] })).toThrow(),
    /** @returns whether kafkajs starts it again. */
    async crash() {
      const restart = await restarts?.(new Error('no coordinator'))
      listeners.get('crash')?.({ payload: { restart, error: new Error('no coordinator') } })
      return restart
    },
    paused: () => isPaused,
    join: () => listeners.get(GROUP_JOIN)?.({ payload: { memberAssignment: { work: [0] } } }),
    batch: (resolveOffset: (offset: string) => void, offset = '0', heartbeat = nothing) =>
      batches.eachBatch({
        heartbeat,
        batch: {
          topic: 'work',
          partition: 0,
          messages: [{ offset, key: null, value: Buffer.from('1'), timestamp: '0', headers: {} }],
        },
        ...{ resolveOffset, isRunning: () => true, isStale: () => false },
      }),
  }
}

test('a batch does not wait for a schema, and its record comes again when the schema is there', async () => {
  const decoding = Promise.withResolvers<Decoded<string>>()
  let asked = 0
  const { handle, join, batch, paused } = await consuming(() => {
    asked += 1
    return asked === 1 ? decoding.promise : { ok: true, value: '1' }
  })
  join()
  const resolved = vi.fn()
  await batch(resolved)
  expect([handle.mock.calls, resolved.mock.calls, paused()]).toEqual([[], [], true])
  decoding.resolve({ ok: true, value: '1' })
  await vi.waitUntil(() => !paused())
  await batch(resolved)
  expect([handle.mock.calls.length, resolved.mock.calls]).toEqual([1, [['0']]])
})

test('a member stays in its group while it waits for the committed offsets: they may take longer than its session', async () => {
  const reading = Promise.withResolvers<void>()
  const committed = () => reading.promise
  const { handle, join, batch } = await consuming(() => ({ ok: true, value: '1' }), { committed })
  join()
  const heartbeat = vi.fn(async () => {})
  const handled = batch(vi.fn(), '0', heartbeat)
  await vi.waitUntil(() => heartbeat.mock.calls.length >= 2, { timeout: 30_000 })
  expect(handle).not.toHaveBeenCalled()
  reading.resolve()
  await handled
  expect(handle).toHaveBeenCalledOnce()
})

test('a member whose group rebalances meanwhile does not wait for them', async () => {
  const committed = () => new Promise(() => {})
  const { handle, join, batch } = await consuming(() => ({ ok: true, value: '1' }), { committed })
  join()
  const rebalancing = new Error('rebalancing')
  await expect(batch(vi.fn(), '0', () => Promise.reject(rebalancing))).rejects.toBe(rebalancing)
  expect(handle).not.toHaveBeenCalled()
})

test('a consumer says that it waits to join its group, once that takes longer than a killed member can hold it up', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { failed, join, rejoin } = await consuming(() => ({ ok: true, value: '1' }))
  await vi.advanceTimersByTimeAsync(14_000)
  expect(failed).not.toHaveBeenCalled()
  const since = performance.now() - 14_000
  await vi.advanceTimersByTimeAsync(2_000)
  const text = 'a consumer reads no records yet: it waits to join its group'
  expect(failed).toHaveBeenCalledWith(expect.objectContaining({ text, fields: { groupId: 'g' } }))
  expect(failed.mock.calls[0]?.[0].since - since).toBeLessThan(1_000)
  join()
  failed.mockClear()
  await vi.advanceTimersByTimeAsync(60_000)
  rejoin()
  await vi.advanceTimersByTimeAsync(14_000)
  expect(failed).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(failed).toHaveBeenCalled()
})

test('a partition that was reassigned while it waited for a schema asks again', async () => {
  const decoding = Promise.withResolvers<Decoded<string>>()
  const { handle, join, batch, paused } = await consuming(() => decoding.promise)
  join()
  await batch(vi.fn())
  join()
  expect(paused()).toBe(false)
  await batch(vi.fn())
  expect([handle.mock.calls, paused()]).toEqual([[], true])
})

test('a consumer that crashes starts again, unless it was closed meanwhile', async () => {
  const { crash, close, onFatal } = await consuming(() => ({ ok: true, value: '1' }))
  expect(await crash()).toBe(true)
  await close()
  expect(await crash()).toBe(false)
  expect(onFatal).not.toHaveBeenCalled()
})

test.each([
  ['waits until it has left its group, if it is joining again: others may take long to join', true],
  ['does not wait as long if it has joined: then Kafka does not answer', false],
])('a consumer that is closed %s', async (_, isJoining) => {
  const { join, rejoin, close, disconnect } = await consuming(() => ({ ok: true, value: '1' }))
  join()
  if (isJoining) rejoin()
  let hasLeft = false
  disconnect.mockImplementationOnce(async () => {
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    hasLeft = true
  })
  await close(10_000)
  expect(hasLeft).toBe(isJoining)
})

test('a record with an unknown schema is parked', async () => {
  const message = 'refused'
  const { join, batch, produced } = await consuming(() => ({
    ok: false,
    reason: 'registry_unreachable',
    message,
  }))
  join()
  const resolved = vi.fn()
  await batch(resolved)
  expect(resolved.mock.calls).toEqual([['0']])
  expect(produced).toMatchObject([
    { topic: 'parked', headers: { 'parked-offset': '0', 'parked-reason': 'registry_unreachable: refused' } },
  ])
})

/** As the deliverer does, which does not keep the record that it read. */
const parkAnew = ({ key, value, park }: ConsumerRecord<string>) =>
  void park({ key: Buffer.from(key), value: Buffer.from(value), headers: { dueAt: '1' } }, 'refused')

test('a record that is parked later is counted, and its copy says where it came from', async () => {
  const { handle, join, batch, produced, loads } = await consuming(() => ({ ok: true, value: 'anew' }))
  handle.mockImplementation(parkAnew)
  join()
  await batch(vi.fn())
  const place = { 'parked-topic': 'work', 'parked-partition': '0', 'parked-offset': '0' }
  const headers = { dueAt: '1', ...place, 'parked-reason': 'refused' }
  expect(produced).toEqual([{ topic: 'parked', key: Buffer.from(''), value: Buffer.from('anew'), headers }])
  await vi.waitUntil(() => loads()[0]?.unsettled === 0)
  expect(loads()[0]?.parked).toBe(1)
})

test('a record is settled only when its parked copy is written', async () => {
  const { promise, resolve } = Promise.withResolvers<Produced>()
  const undecodable = { ok: false, reason: 'undecodable', message: 'no Avro' } as const
  const { join, batch, loads } = await consuming(() => undecodable, { outcome: () => promise })
  join()
  await batch(vi.fn())
  await new Promise(setImmediate)
  expect(loads()[0]?.unsettled).toBe(1)
  resolve('acked')
  await vi.waitUntil(() => loads()[0]?.unsettled === 0)
})

test('a record that topic parked refuses is parked without its value', async () => {
  const outcomes: Produced[] = ['refused', 'acked']
  const { handle, join, batch, produced, loads, onFatal } = await consuming(
    () => ({ ok: true, value: 'large' }),
    { outcome: () => outcomes.shift() ?? 'unknown' },
  )
  handle.mockImplementation(parkAnew)
  join()
  await batch(vi.fn())
  await vi.waitUntil(() => loads()[0]?.unsettled === 0)
  expect(produced[1]).toMatchObject({
    value: null,
    headers: { 'parked-offset': '0', 'parked-reason': 'refused', 'parked-value-bytes': '5' },
  })
  expect(onFatal).not.toHaveBeenCalled()
})

test('a process that can neither handle nor park a record ends, and the record is read again', async () => {
  const { handle, join, batch, loads, onFatal } = await consuming(() => ({ ok: true, value: '1' }), {
    outcome: () => 'full',
  })
  handle.mockImplementation(parkAnew)
  join()
  await batch(vi.fn())
  await vi.waitUntil(() => onFatal.mock.calls.length > 0)
  expect(loads()[0]).toMatchObject({ unsettled: 1, parked: 0 })
})

test('a member that gives up its partitions takes no more records of them', async () => {
  const { handle, join, batch, rejoin } = await consuming(() => ({ ok: true, value: '1' }))
  join()
  await batch(vi.fn())
  rejoin()
  const resolved = vi.fn()
  await batch(resolved, '1')
  expect([handle.mock.calls.length, resolved.mock.calls]).toEqual([1, []])
})

test('a record that cannot be parked any more is released at shutdown, which does not wait for it', async () => {
  const { promise, resolve } = Promise.withResolvers<Produced>()
  const { handle, join, batch, close, onFatal } = await consuming(() => ({ ok: true, value: '1' }), {
    outcome: () => promise,
  })
  handle.mockImplementation(parkAnew)
  join()
  await batch(vi.fn())
  const closed = close(600_000)
  resolve('unknown')
  await closed
  expect(onFatal).not.toHaveBeenCalled()
})

const aTracker = (times: readonly number[]) => {
  const tracker = new Tracker({ offset: 0, ahead: '' })
  times.forEach((time, offset) => void tracker.take(offset, time))
  return { tracker }
}

test('the load adds up unsettled records of all partitions and has the oldest of all', () => {
  expect(loadOf([aTracker([30, 40]), aTracker([]), aTracker([20])])).toEqual({
    partitions: 3,
    unsettled: 3,
    oldest: 20,
  })
})

test('a load without unsettled records has no oldest', () => {
  expect(loadOf([aTracker([])])).toEqual({ partitions: 1, unsettled: 0, oldest: undefined })
  expect(loadOf([])).toEqual({ partitions: 0, unsettled: 0, oldest: undefined })
})
