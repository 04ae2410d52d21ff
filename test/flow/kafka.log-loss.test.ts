import { afterAll, expect, test } from 'vitest'
import { bytes } from '../../deliverer/rungs.ts'
import { LOG_FAULTS, type Loss } from '../../kafka/admin/lost-records.ts'
import type { Connection } from '../../kafka/client.ts'
import { type Consumer, consume } from '../../kafka/consume/consume.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { openTail } from '../../kafka/tables/tail.ts'
import { borrowBroker, type OwnBroker, startOwnBroker } from '../helpers/broker.ts'
import { closing, connection, readAll } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'

const onFatal = (error: Error) => {
  throw error
}
const faults = { name: LOG_FAULTS, partitions: 1 as const }

/** Shared by all tests. The key: whether the broker creates topics by itself. */
const brokers = new Map<string, Promise<OwnBroker>>()
afterAll(() => Promise.all(Array.from(brokers.values(), async (broker) => (await broker).close())))

function sharedBroker(creates = 'false'): Promise<OwnBroker> {
  const start = () => startOwnBroker({ more: { 'auto.create.topics.enable': creates } })
  const broker = brokers.get(creates) ?? (creates === 'false' ? borrowBroker() : start())
  brokers.set(creates, broker)
  return broker
}

/** One partition: the last records of all are cut off. */
async function world(
  creates?: string,
): Promise<{ broker: OwnBroker; kafka: Connection; producer: Producer }> {
  const broker = await sharedBroker(creates)
  const kafka = await connection([{ partitions: 1 }, faults], broker.now.brokers)
  return { broker, kafka, producer: closing(await createProducer(kafka)) }
}

async function write(
  producer: Producer,
  { topic = 'work', from, to }: { topic?: string; from: number; to: number },
) {
  const records = Array.from({ length: to - from }, (_, index) => ({
    topic,
    key: `k${from + index}`,
    value: Buffer.from(String(from + index)),
  }))
  expect(await producer.produce(records)).toBe('acked')
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

/** `came`: values, including repeated ones. */
async function worker(kafka: Connection, producer: Producer): Promise<Consumer & { came: number[] }> {
  const came: number[] = []
  const consumer = await consume<Buffer>({
    connection: kafka,
    group: 'work',
    topics: ['work'],
    codec: bytes,
    producer,
    onFatal,
    handle: ({ value, settle }) => {
      came.push(Number(value))
      settle()
      return undefined
    },
  })
  await consumer.joined
  return { ...consumer, came }
}

async function adminOf({ kafka }: Connection) {
  const admin = kafka.admin()
  closing({ close: () => admin.disconnect() })
  await admin.connect()
  return admin
}

const has = (came: readonly number[], wanted: readonly number[]) => {
  const set = new Set(came)
  return wanted.every((each) => set.has(each))
}

const told = async (kafka: Connection): Promise<Loss[]> =>
  (await readAll(kafka, LOG_FAULTS)).map(({ value }) => JSON.parse(String(value)))

const toldOf = (kafka: Connection, seenBy: string) =>
  until(async () => (await told(kafka)).find((loss) => loss.seenBy === seenBy), {
    message: `${seenBy} tells`,
  })

test('records written after a loss are all read, and few of them twice', async () => {
  const { broker, kafka, producer } = await world()
  const { came } = closing(await worker(kafka, producer))
  await write(producer, { from: 0, to: 300 })
  const cut = await broker.diskImage([kafka.named('work')])
  await write(producer, { from: 300, to: 500 })
  await until(() => has(came, numbers(0, 500)))
  await cut()
  await write(producer, { from: 500, to: 900 })
  await until(() => has(came, numbers(500, 900)), { message: () => `${came.length} came` })
  expect(came.length).toBe(900)
  expect(await toldOf(kafka, 'work')).toMatchObject({
    topic: 'work',
    cause: 'truncated',
    to: 300,
    lost: 200,
    unread: 0,
  })
  expect(await toldOf(kafka, 'producer')).toMatchObject({ topic: 'work', cause: 'truncated', to: 300 })
})

test('a group that was away during the loss skips nothing when the log has grown past its offset', async () => {
  const { broker, kafka, producer } = await world()
  const before = await worker(kafka, producer)
  await write(producer, { from: 0, to: 300 })
  const cut = await broker.diskImage([kafka.named('work')])
  await write(producer, { from: 300, to: 500 })
  await until(() => has(before.came, numbers(0, 500)))
  await before.close()
  await cut()
  await write(producer, { from: 500, to: 900 })
  const { came } = closing(await worker(kafka, producer))
  await until(() => has(came, numbers(500, 900)), { message: () => `${came.length} came` })
  expect(came).toEqual(numbers(500, 900))
  expect(await toldOf(kafka, 'work')).toMatchObject({ cause: 'truncated', offset: 500, to: 300, lost: 200 })
})

test('lost unread records are reported, even if nothing is written any more, and a held record before them is read', async () => {
  const { broker, kafka, producer } = await world()
  await write(producer, { from: 0, to: 300 })
  const cut = await broker.diskImage([kafka.named('work')])
  await write(producer, { from: 300, to: 500 })
  await producer.close()
  const came: number[] = []
  const settles: (() => void)[] = []
  let holds = true
  const late = await consume<Buffer>({
    connection: kafka,
    group: 'work',
    topics: ['work'],
    codec: bytes,
    producer,
    onFatal,
    highWater: 10,
    // the first batch
    maxBytesPerPartition: 1,
    handle: ({ value, settle }) => {
      if (holds && Number(value) === 299) return { holdUntil: Date.now() + 100 }
      came.push(Number(value))
      // later records are settled at once
      if (came.length <= 300) settles.push(settle)
      else settle()
      return undefined
    },
  })
  closing(late)
  await until(() => came.length === 299)
  await cut()
  expect(await toldOf(kafka, 'work')).toMatchObject({
    cause: 'truncated',
    offset: 300,
    to: 300,
    lost: 200,
    unread: 200,
  })
  holds = false
  const next = closing(await createProducer(kafka))
  await write(next, { from: 500, to: 600 })
  for (const settle of settles) settle()
  await until(() => has(came, numbers(500, 600)))
  expect(came).toEqual([...numbers(0, 300), ...numbers(500, 600)])
})

test('a producer that writes nothing more reports lost records that no consumer has read', async () => {
  const broker = await sharedBroker()
  const topics = [{ partitions: 1 as const }, { name: 'unread', partitions: 1 as const }, faults]
  const kafka = await connection(topics, broker.now.brokers)
  const producer = closing(await createProducer(kafka))
  closing(await worker(kafka, producer))
  const admin = await adminOf(kafka)
  const group = { groupId: kafka.named('work'), topics: [kafka.named('work')] }
  // its commits name the leader's epoch, once the consumer knows it
  await until(async () => {
    await write(producer, { from: 0, to: 1 })
    return (await admin.fetchOffsets(group))[0]?.partitions[0]?.metadata
  })
  await write(producer, { topic: 'unread', from: 0, to: 300 })
  const cut = await broker.diskImage([kafka.named('unread')])
  await write(producer, { topic: 'unread', from: 300, to: 500 })
  await cut()
  const loss = { topic: 'unread', cause: 'truncated', offset: 500, to: 300, lost: 200 }
  expect(await toldOf(kafka, 'producer')).toMatchObject(loss)
})

test('a producer reports a loss from its beginning, even if others have written since', async () => {
  const { broker, kafka, producer } = await world()
  await write(producer, { from: 0, to: 300 })
  const cut = await broker.diskImage([kafka.named('work')])
  await write(producer, { from: 300, to: 500 })
  await cut()
  const other = closing(await createProducer(kafka))
  await write(other, { from: 500, to: 509 })
  await write(producer, { from: 509, to: 510 })
  const losses = () => told(kafka).then((all) => all.map(({ offset, to }) => ({ offset, to })))
  await until(async () => (await losses()).some(({ to }) => to === 300), { message: 'told of the start' })
  expect(await losses()).toEqual([
    { offset: 500, to: 309 },
    { offset: 309, to: 300 },
  ])
})

test('records removed before they were read are counted, and the rest is read', async () => {
  const { kafka, producer } = await world()
  const before = await worker(kafka, producer)
  await write(producer, { from: 0, to: 100 })
  await until(() => has(before.came, numbers(0, 100)))
  await before.close()
  await write(producer, { from: 100, to: 500 })
  const admin = await adminOf(kafka)
  // the admin client finds leaders only in metadata that it has fetched
  await admin.fetchTopicMetadata({ topics: [kafka.named('work')] })
  await admin.deleteTopicRecords({
    topic: kafka.named('work'),
    partitions: [{ partition: 0, offset: '300' }],
  })
  const { came } = closing(await worker(kafka, producer))
  await until(() => has(came, numbers(300, 500)))
  expect(came).toEqual(numbers(300, 500))
  expect(await toldOf(kafka, 'work')).toMatchObject({
    cause: 'removed',
    offset: 100,
    to: 300,
    lost: 200,
    unread: 200,
  })
})

test.each([
  ['does not create topics by itself', 'false'],
  ['creates topics by itself', 'true'],
])(
  'a topic that was deleted and created again, by a broker that %s, is read from its beginning',
  async (_, creates) => {
    const { kafka, producer } = await world(creates)
    const { came } = closing(await worker(kafka, producer))
    await write(producer, { from: 0, to: 100 })
    await until(() => has(came, numbers(0, 100)))
    const admin = await adminOf(kafka)
    await admin.deleteTopics({ topics: [kafka.named('work')] })
    await until(async () => !(await admin.listTopics()).includes(kafka.named('work')))
    const fresh = { topics: [{ topic: kafka.named('work'), numPartitions: 1 }], waitForLeaders: true }
    // a topic that is still being deleted cannot be created yet
    const isThere = async () => (await admin.listTopics()).includes(kafka.named('work'))
    await until(async () => (await isThere()) || (await admin.createTopics(fresh)))
    await write(producer, { from: 100, to: 500 })
    await until(() => has(came, numbers(100, 500)), { message: () => `${came.length} came` })
    expect(await toldOf(kafka, 'work')).toMatchObject({ cause: 'recreated', to: 0 })
  },
)

test('a table forgets lost records, and follows new ones', async () => {
  const broker = await sharedBroker()
  const settings = { name: 'settings', partitions: 1 as const, retention: 'compact' as const }
  const kafka = await connection([settings, faults], broker.now.brokers)
  const producer = closing(await createProducer(kafka))
  const put = async (key: string, value: string) =>
    expect(await producer.produce([{ topic: 'settings', key, value }])).toBe('acked')
  const changes: string[] = []
  const onChange = (key: string, value: Buffer | undefined) => void changes.push(`${key}=${value}`)
  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal, onChange }))
  await table.loaded
  await put('a', '1')
  await put('b', '1')
  const cut = await broker.diskImage([kafka.named('settings')])
  await put('a', '2')
  await put('lost', '1')
  await until(() => table.get('lost'))
  await cut()
  await put('new', '1')
  await until(() => table.get('new') && !table.get('lost'), { message: () => changes.join(' ') })
  expect([...table.entries()].map(([key, value]) => `${key}=${value}`).toSorted()).toEqual([
    'a=1',
    'b=1',
    'new=1',
  ])
  expect(changes).toContain('lost=undefined')
  await until(table.isFresh)
})

test('a tail shows all records written after a loss', async () => {
  const { broker, kafka, producer } = await world()
  const came: number[] = []
  const onRecord = ({ value }: { value: Buffer | null }) => void came.push(Number(value))
  closing(await openTail({ connection: kafka, topics: ['work'], last: () => 1_000, onRecord, onFatal }))
  await write(producer, { from: 0, to: 100 })
  const cut = await broker.diskImage([kafka.named('work')])
  await write(producer, { from: 100, to: 200 })
  await until(() => has(came, numbers(0, 200)))
  await cut()
  await write(producer, { from: 200, to: 400 })
  await until(() => has(came, numbers(200, 400)))
  expect(came).toEqual(numbers(0, 400))
})
