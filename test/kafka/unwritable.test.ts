import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { NOT_SENT } from '../../kafka/patches/group-messages.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { UnwritablePartitions } from '../../kafka/produce/queue/unwritable.ts'
import { connectionOf } from '../helpers/kafkajs.ts'
import { until } from '../helpers/until.ts'

type Message = { value: string }
type Partitioner = (of: { topic: string; message: Message; partitionMetadata: object[] }) => number

/** A topic whose partitions have these leaders (-1: none), and what is written to each partition. */
function aBroker(leaders: number[]) {
  const written = leaders.map((): string[] => [])
  /** Fails the sends that contain one of these values. */
  const refused = new Set<string>()
  const sends = { count: 0 }
  const broker = { leaders, written, refused, sends, held: undefined as Promise<void> | undefined }
  const kafka = {
    producer: ({ createPartitioner }: { createPartitioner?: () => Partitioner }) => ({
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch({ topicMessages }: { topicMessages: { topic: string; messages: Message[] }[] }) {
        if (topicMessages.some(({ messages }) => messages.some(({ value }) => value === 'held')))
          await broker.held
        const partitionMetadata = leaders.map((leader, partitionId) => ({ partitionId, leader }))
        const sent = topicMessages.flatMap(({ topic, messages }) =>
          messages.map((message) => ({
            value: message.value,
            partition: createPartitioner?.()({ topic, message, partitionMetadata }) ?? NOT_SENT,
          })),
        )
        sends.count += 1
        await sleep(1)
        // kafkajs leaves out partitions that the topic does not have
        const placed = sent.filter(({ partition }) => partition !== NOT_SENT && partition < leaders.length)
        if (placed.some(({ value }) => refused.has(value)))
          throw Object.assign(new Error('refused'), { type: 'INVALID_RECORD' })
        for (const { value, partition } of placed) written[partition]?.push(value)
        return [...new Set(placed.map(({ partition }) => partition))].map((partition) => ({
          topicName: 'work',
          partition,
        }))
      },
    }),
  }
  return Object.assign(broker, { kafka })
}

let producer: Producer
afterEach(() => producer.close(0))

const write = (partition: number, value: string | number, deadlineMs = Number.POSITIVE_INFINITY) =>
  producer.produce([{ topic: 'work', partition, key: 'k', value: String(value) }], { deadlineMs })

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)

test('records of partitions with leaders are written, while the others wait', async () => {
  const broker = aBroker([1, -1])
  producer = await createProducer(connectionOf(broker.kafka))
  const waiting = write(1, 'waits')
  for (const number of numbers(5)) expect(await write(0, number)).toBe('acked')
  expect(producer.unwritableMs()).toBeGreaterThan(0)
  expect(broker.written).toEqual([['0', '1', '2', '3', '4'], []])
  broker.leaders[1] = 2
  expect(await waiting).toBe('acked')
  expect(broker.written[1]).toEqual(['waits'])
  expect(producer.queuedBytes()).toBe(0)
  await until(() => producer.unwritableMs() === 0)
})

test('records of a missing partition wait until it is added, while others are written', async () => {
  const broker = aBroker([1])
  producer = await createProducer(connectionOf(broker.kafka))
  const missing = write(1, 'missing')
  await until(() => broker.sends.count > 0)
  expect(await write(0, 'other')).toBe('acked')
  broker.leaders.push(1)
  broker.written.push([])
  expect(await missing).toBe('acked')
  expect(broker.written).toEqual([['other'], ['missing']])
})

test('of one list, the records whose partitions have leaders are written', async () => {
  const broker = aBroker([1, -1])
  producer = await createProducer(connectionOf(broker.kafka))
  const record = (partition: number) => ({ topic: 'work', partition, key: 'k', value: `of ${partition}` })
  const both = producer.produce([record(1), record(0)])
  await until(() => broker.written[0]?.length === 1)
  broker.leaders[1] = 2
  expect(await both).toBe('acked')
  expect(broker.written).toEqual([['of 0'], ['of 1']])
})

test('once it has a leader, a partition gets old and new records in order, even if they take several sends', async () => {
  const broker = aBroker([1, -1])
  producer = await createProducer(connectionOf(broker.kafka))
  const early = numbers(1_200).map((number) => write(1, number))
  // each of them is tried, and the first ones once more
  await until(() => broker.sends.count > Math.ceil(1_200 / 500))
  broker.leaders[1] = 2
  const late: Promise<unknown>[] = []
  for (const number of numbers(300, 1_200)) {
    late.push(write(1, number))
    await write(0, number)
  }
  expect(new Set(await Promise.all([...early, ...late]))).toEqual(new Set(['acked']))
  expect(broker.written[1]).toEqual(numbers(1_500).map(String))
})

test('a record that the broker refuses does not let later ones of a partition overtake those that wait', async () => {
  const broker = aBroker([1, -1])
  broker.refused.add('bad')
  producer = await createProducer(connectionOf(broker.kafka))
  const outcomes = [write(0, 'bad'), write(1, 'a'), write(1, 'b'), write(0, 'good')]
  expect(await outcomes[0]).toBe('refused')
  expect(await outcomes[3]).toBe('acked')
  broker.leaders[1] = 2
  expect(await Promise.all(outcomes)).toEqual(['refused', 'acked', 'acked', 'acked'])
  expect(broker.written).toEqual([['good'], ['a', 'b']])
})

test('a record whose deadline has passed takes no room while it waits for a leader, and is not written', async () => {
  const broker = aBroker([1, -1])
  producer = await createProducer(connectionOf(broker.kafka))
  expect(await write(1, 'late', 50)).toBe('unknown')
  await until(() => producer.queuedBytes() === 0)
  broker.leaders[1] = 2
  expect(await write(1, 'next')).toBe('acked')
  expect(broker.written[1]).toEqual(['next'])
})

test('the rest of a call is not written without its beginning, whose deadline passes while it waits for a leader', async () => {
  const broker = aBroker([1, -1])
  producer = await createProducer(connectionOf(broker.kafka))
  // more than fit in one send; the second one is held up
  const call = (deadlineMs: number) =>
    producer.produce(
      numbers(600).map((number) => ({ topic: 'work', partition: 1, key: 'k', value: String(number) })),
      { deadlineMs },
    )
  const { promise, resolve: release } = Promise.withResolvers<void>()
  broker.held = promise
  const first = call(50)
  await new Promise(setImmediate)
  const held = write(0, 'held')
  expect(await first).toBe('unknown')
  // longer than a sweep
  await until(() => producer.unwritableMs() > 500)
  broker.leaders[1] = 2
  release()
  expect(await held).toBe('acked')
  expect(await call(60_000)).toBe('acked')
  expect([...new Set(broker.written[1])]).toEqual(numbers(600).map(String))
})

test('a record that waits for a leader is made again when it is sent, so it takes no memory meanwhile', async () => {
  const broker = aBroker([-1])
  producer = await createProducer(connectionOf(broker.kafka))
  let made = 0
  // the first one is made to measure the list
  const outcome = producer.produceList({
    count: 2,
    record: (place) => {
      made += place
      return { topic: 'work', partition: 0, key: 'k', value: `${place}: ${made}` }
    },
  })
  await until(() => producer.unwritableMs() > 0)
  broker.leaders[0] = 1
  expect(await outcome).toBe('acked')
  expect(made).toBeGreaterThan(1)
  expect(broker.written[0]).toEqual(['0: 0', `1: ${made}`])
})

test('a partition is tried with one record, less and less often, until one is written', () => {
  const record = (value: string) => ({
    topic: 'work',
    message: { key: Buffer.of(), value, placed: 0 },
    bytes: 1,
  })
  const unwritable = new UnwritablePartitions<ReturnType<typeof record>>(({ topic, bytes }) => ({
    ...record('made again'),
    topic,
    bytes,
  }))
  unwritable.add(['a', 'b', 'c'].map(record), 0)
  const times: number[] = []
  for (let tries = 0; tries < 4; tries++) {
    const at = unwritable.dueAt()
    times.push(at)
    expect(unwritable.takeDue(at - 1)).toEqual([])
    const tried = unwritable.takeDue(at)
    expect(tried).toHaveLength(1)
    unwritable.putBack(tried, at)
  }
  expect(times).toEqual([500, 1_500, 3_500, 5_500])
  expect(unwritable.takeDue(7_500)).toHaveLength(1)
  unwritable.putBack([], 7_500)
  expect(unwritable.takeDue(7_500)).toHaveLength(2)
})

test('Kafka counts as stalled while nothing is acknowledged, and not while other partitions are written', async () => {
  const broker = aBroker([-1, -1])
  producer = await createProducer(connectionOf(broker.kafka))
  const waiting = [write(0, 'a'), write(1, 'b')]
  await until(() => producer.stalledMs() > 100)
  broker.leaders[0] = 1
  await waiting[0]
  expect(producer.unwritableMs()).toBeGreaterThan(100)
  await until(() => producer.stalledMs() < 100)
  broker.leaders[1] = 1
  await Promise.all(waiting)
})

test('a close waits for leaders only as long as for acknowledgements', async () => {
  const broker = aBroker([-1])
  producer = await createProducer(connectionOf(broker.kafka))
  const waiting = write(0, 'waits')
  await until(() => producer.unwritableMs() > 0)
  await producer.close(50)
  expect(await waiting).toBe('unknown')
})
