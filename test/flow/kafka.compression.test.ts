import { open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { bytes } from '../../deliverer/rungs.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import type { Connection } from '../../kafka/client.ts'
import { type Consumer, consume } from '../../kafka/consume/consume.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { openReader } from '../../kafka/tables/reader.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { openTail } from '../../kafka/tables/tail.ts'
import { registry } from '../../process/metrics.ts'
import { followSettings } from '../../settings/follow.ts'
import { CONFIG } from '../../settings/settings.ts'
import { borrowBroker, type OwnBroker } from '../helpers/broker.ts'
import { closing, connection, lag, readAll, topicWith } from '../helpers/cluster.ts'
import { keysOf } from '../helpers/config-keys.ts'
import { until } from '../helpers/until.ts'

const onFatal = (error: Error) => {
  throw error
}

/** The broker itself compresses (`compression.type`). */
async function aTopic(type: string, brokers = inject('kafkaBrokers')): Promise<Connection> {
  const kafka = await connection([], brokers)
  await topicWith(kafka, 'work', { 'compression.type': type })
  return kafka
}

async function append(kafka: Connection, values: readonly string[], topic = 'work'): Promise<void> {
  const producer = closing(await createProducer(kafka))
  const records = values.map((value) => ({
    topic,
    key: value.slice(0, 9),
    value: Buffer.from(value),
  }))
  expect(await producer.produce(records)).toBe('acked')
}

/** `values`: received so far. */
async function consuming(kafka: Connection): Promise<{ consumer: Consumer; values: string[] }> {
  const values: string[] = []
  const producer = closing(await createProducer(kafka))
  const consumer = await consume({
    connection: kafka,
    group: 'work',
    topics: ['work'],
    codec: bytes,
    producer,
    handle(record) {
      values.push(String(record.value))
      record.settle()
      return undefined
    },
    onFatal,
  })
  return { consumer: closing(consumer), values }
}

const allRead = (kafka: Connection) =>
  until(async () => (await lag(kafka, { group: 'work', topic: 'work' })) === 0)

test.each(['gzip', 'snappy', 'lz4', 'zstd'])('a topic compressed with %s is read', async (type) => {
  const kafka = await aTopic(type)
  // more than one block of LZ4, and of Snappy's framing
  const values = [...Array.from({ length: 50 }, (_, index) => `value ${index}`), 'a long one '.repeat(20_000)]
  await append(kafka, values)
  const { values: read } = await consuming(kafka)
  await allRead(kafka)
  expect(read).toEqual(values)
  expect(await readAll(kafka, 'parked')).toEqual([])
})

/** Changes the second batch of partition 0 on the broker's disk. @returns the changed batch */
async function change(logFile: string, topic: string, how: (batch: Buffer) => void): Promise<Buffer> {
  const path = join(dirname(dirname(logFile)), 'data', `${topic}-0`, '00000000000000000000.log')
  const log = await readFile(path)
  const lengthAt = (start: number) => log.readInt32BE(start + 8) + 12
  const start = lengthAt(0)
  const batch = Buffer.from(log.subarray(start, start + lengthAt(start)))
  how(batch)
  const file = await open(path, 'r+')
  await file.write(batch, 0, batch.length, start)
  await file.close()
  return batch
}

const damage = (logFile: string, topic: string) =>
  change(logFile, topic, (batch) => {
    batch[70] = (batch[70] ?? 0) ^ 1
  })

let broker: OwnBroker
beforeAll(async () => {
  broker = await borrowBroker()
})
afterAll(() => broker?.close())

test("a batch damaged on the broker's disk is parked unchanged; tables, tails and readers skip it", async () => {
  const kafka = await aTopic('producer', broker.now.brokers)
  for (const values of [['a'], ['b', 'c', 'd'], ['e']]) await append(kafka, values)
  const batch = await damage(broker.now.logFile, kafka.named('work'))
  const skipped = async () =>
    Number(
      /^sluice_consumer_skipped_batches_total\{topic="work"\} (\d+)$/m.exec(await registry.metrics())?.[1] ??
        0,
    )

  const { consumer, values } = await consuming(kafka)
  await allRead(kafka)
  expect(values).toEqual(['a', 'e'])
  const [parked, ...more] = await readAll(kafka, 'parked')
  expect(more).toEqual([])
  expect(parked?.headers).toMatchObject({
    ...{ 'parked-topic': 'work', 'parked-partition': '0', 'parked-offset': '3', 'parked-batch': '1-3' },
    'parked-reason': 'undecodable: the batch of offsets 1 to 3 cannot be decoded: wrong checksum',
  })
  expect(parked?.value.equals(batch)).toBe(true)
  expect(consumer.loads()).toMatchObject([{ topic: 'work', parked: 1, unsettled: 0 }])
  expect(await skipped()).toBe(0)

  const table = closing(await openTable({ connection: kafka, topic: 'work', onFatal }))
  await table.loaded
  expect([...table.entries()].map(([key]) => key)).toEqual(['a', 'e'])
  expect(await skipped()).toBe(1)

  const seen: string[] = []
  const onRecord = ({ value }: { value: Buffer | null }) => void seen.push(String(value))
  const tail = await openTail({ connection: kafka, topics: ['work'], last: () => 10, onRecord, onFatal })
  closing(tail)
  await tail.caughtUp
  expect(seen).toEqual(['a', 'e'])

  const read: string[] = []
  const reader = closing(await openReader({ connection: kafka, topic: 'work', onFatal }))
  await reader.read({ partition: 0, from: 0, to: 5 }, (value) => void read.push(String(value)))
  await reader.read({ partition: 0, from: 2, to: 3 }, (value) => void read.push(String(value)))
  expect(read).toEqual(['a', 'e'])

  // both continue
  await append(kafka, ['f'])
  await until(() => values.includes('f') && seen.includes('f'))
})

test('a partition that the broker cannot read does not stop others, and resumes once the damaged records are deleted', async () => {
  const kafka = await connection([{}], broker.now.brokers)
  const producer = closing(await createProducer(kafka))
  // large ones, so that the index names some of them
  const write = async (partition: number, value: string) =>
    expect(await producer.produce([{ topic: 'work', partition, key: 'k', value: value.padEnd(3_000) }])).toBe(
      'acked',
    )
  for (let count = 0; count < 10; count++) await write(0, `${count}`)
  await change(broker.now.logFile, kafka.named('work'), (batch) => void batch.writeInt32BE(0, 8))

  const { values } = await consuming(kafka)
  const has = (value: string) => values.some((each) => each.trim() === value)
  await until(() => has('0'))
  for (const value of ['a', 'b', 'c']) {
    await write(1, value)
    await until(() => has(value))
  }
  await write(0, 'last')
  const topic = kafka.named('work')
  await withAdmin(kafka, async (admin) => {
    // otherwise kafkajs does not know the leaders
    await admin.fetchTopicOffsets(topic)
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '6' }] })
  })
  await until(() => has('last'))
  expect(values.map((each) => each.trim())).toEqual(['0', 'a', 'b', 'c', '6', '7', '8', '9', 'last'])
})

test('damaged settings end a process at its start, as their records would look deleted', async () => {
  const kafka = await connection([{ name: CONFIG, partitions: 1 }], broker.now.brokers)
  for (const values of [['a'], ['b', 'c', 'd'], ['e']]) await append(kafka, values, CONFIG)
  await damage(broker.now.logFile, kafka.named(CONFIG))
  const ended = Promise.withResolvers<Error>()
  const settings = await followSettings({
    connection: kafka,
    keys: keysOf(Buffer.alloc(32)),
    onFatal: ended.resolve,
  })
  closing(settings)
  const { message } = await ended.promise
  expect(message).toContain('topic config at offsets 1 to 3 is damaged (wrong checksum)')
  expect(message).toContain('ops/runbook.md#sluicebatchskipped')
  expect(settings.isFresh()).toBe(false)
})
