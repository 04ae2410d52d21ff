import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Transaction } from 'kafkajs'
import { expect, test } from 'vitest'
import { groupsOf } from '../../harness/kafka/topics.ts'
import type { Connection } from '../../kafka/client.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { createFencedWriter, type FencedWriter } from '../../kafka/produce/transactions.ts'
import { openTable, type Table } from '../../kafka/tables/table.ts'
import { closing, connection, narrowTopic } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'

const onFatal = (error: Error) => {
  throw error
}
const compacted = { name: 'settings', partitions: 1 as const, retention: 'compact' as const }

async function instance(kafka: Connection): Promise<{ table: Table; writer: FencedWriter; count(): number }> {
  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  await table.loaded
  const writer = closing(createFencedWriter({ connection: kafka, transactionalId: 'writer', table }))
  return { table, writer, count: () => Number.parseInt(String(table.get('counter') ?? 0), 10) }
}

test('a table loads all records, follows new ones, and forgets removed ones', async () => {
  const kafka = await connection([compacted])
  const producer = closing(await createProducer(kafka))
  const put = (key: string, value: string | null) => producer.produce([{ topic: 'settings', key, value }])
  await put('a', '1')
  await put('b', '1')
  await put('a', '2')
  const changes: string[] = []
  const table = closing(
    await openTable({
      connection: kafka,
      topic: 'settings',
      onFatal,
      onChange: (key, value) => void changes.push(`${key}=${value}`),
    }),
  )
  await table.loaded
  expect([...table.entries()].map(([key, value]) => `${key}=${value}`).toSorted()).toEqual(['a=2', 'b=1'])
  await put('b', null)
  await until(() => table.get('b') === undefined)
  expect(changes.at(-1)).toBe('b=undefined')
})

test('a table holds only selected keys', async () => {
  const kafka = await connection([compacted])
  const producer = closing(await createProducer(kafka))
  await producer.produce(['a/1', 'b/1', 'a/2'].map((key) => ({ topic: 'settings', key, value: key })))
  const changed: string[] = []
  const table = closing(
    await openTable({
      connection: kafka,
      topic: 'settings',
      onFatal,
      matches: (key) => key.startsWith('a/'),
      onChange: (key) => void changed.push(key),
    }),
  )
  await table.loaded
  expect([...table.entries()].map(([key]) => key)).toEqual(['a/1', 'a/2'])
  expect(changed).toEqual(['a/1', 'a/2'])
})

test('a table of an empty topic is loaded, and so is one whose last record is a transaction marker', async () => {
  const kafka = await connection([compacted])
  const { writer } = await instance(kafka)
  await writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '1' }] }))
  const late = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  await late.loaded
  expect(String(late.get('a'))).toBe('1')
})

test("an acknowledged write is in the writer's table, and a refusal writes nothing", async () => {
  const kafka = await connection([compacted])
  const { table, writer } = await instance(kafka)
  expect(await writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '1' }] }))).toEqual({
    ok: true,
  })
  expect(String(table.get('a'))).toBe('1')
  expect(await writer.write(() => ({ refusal: 'taken' }))).toEqual({ ok: false, refusal: 'taken' })
})

/** Longer than the random pause between two tries. */
const SLOW_MS = 300

function sending(from: Connection, sendBatch: (send: () => Sent) => Sent): Connection {
  const kafka: typeof from.kafka = Object.create(from.kafka)
  kafka.producer = (config) => {
    const producer = from.kafka.producer(config)
    const transaction = async () => {
      const begun = await producer.transaction()
      const sendsAsTold: Transaction['sendBatch'] = (batch) => sendBatch(() => begun.sendBatch(batch))
      return { ...begun, sendBatch: sendsAsTold }
    }
    return { ...producer, transaction }
  }
  return { ...from, kafka }
}
type Sent = ReturnType<Transaction['sendBatch']>

/** As for a distant client. */
const slow = (from: Connection) => sending(from, (send) => sleep(SLOW_MS).then(send))

test.each([
  ['', (kafka: Connection) => kafka],
  [', also where Kafka is slow', slow],
])(
  'of instances that write at once on the same condition one wins each time, and no write is lost%s',
  async (_, as) => {
    const kafka = as(await connection([compacted]))
    const instances = await Promise.all([instance(kafka), instance(kafka), instance(kafka)])
    const increment = ({ writer, count }: (typeof instances)[number]) =>
      // no two writes have the same bytes, as with sealed settings
      writer.write(() => ({
        records: [{ topic: 'settings', key: 'counter', value: `${count() + 1} ${randomUUID()}` }],
      }))
    let written = 0
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.all(instances.map(increment))
      written += outcomes.filter(({ ok }) => ok).length
    }
    expect(written).toBe(15)
    await until(() => instances.every(({ count }) => count() === written), {
      message: () => `${instances.map(({ count }) => count())} of ${written}`,
    })
  },
)

test('waiting writes are written together, each decided on the result of those before it', async () => {
  const kafka = await connection([compacted])
  const instances = await Promise.all([instance(kafka), instance(kafka)])
  const sixty = ({ writer, count }: Awaited<ReturnType<typeof instance>>) =>
    Array.from({ length: 60 }, () =>
      writer.write(() => ({
        records: [{ topic: 'settings', key: 'counter', value: `${count() + 1} ${randomUUID()}` }],
      })),
    )
  const [first] = instances
  expect(first && (await Promise.all(sixty(first))).every(({ ok }) => ok)).toBe(true)
  // each transaction also adds a marker
  expect((await endOf(kafka)) - 60).toBeLessThan(30)
  expect((await Promise.all(instances.flatMap(sixty))).every(({ ok }) => ok)).toBe(true)
  await until(() => instances.every(({ count }) => count() === 180))
})

test('unwritten decisions are visible to later decisions only', async () => {
  const kafka = await connection([compacted])
  const { table, writer } = await instance(kafka)
  const put = writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '1' }] }))
  const looked = writer.write(() => {
    queueMicrotask(() => seen.push(table.get('a')))
    return { refusal: `there is ${table.get('a')}` }
  })
  const removed = writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: null }] }))
  const seen: unknown[] = []
  await writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '2' }] }))
  expect([await put, await looked, await removed]).toEqual([
    { ok: true },
    { ok: false, refusal: 'there is 1' },
    { ok: true },
  ])
  expect(seen).toEqual([undefined])
  expect(String(table.get('a'))).toBe('2')
})

test('a decision that fails fails alone, and one too large to be written with others is written alone', async () => {
  const kafka = await connection([compacted])
  const { table, writer } = await instance(kafka)
  const large = (key: string) =>
    writer.write(() => ({ records: [{ topic: 'settings', key, value: key.repeat(400_000) }] }))
  const outcomes = await Promise.all([
    large('a'),
    writer.write(() => {
      throw new Error('no decision')
    }),
    large('b'),
    large('c'),
  ])
  expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true, true])
  expect(outcomes[1]).toMatchObject({ unavailable: { message: 'no decision' } })
  expect([...table.entries()].map(([key]) => key)).toEqual(['a', 'b', 'c'])
})

test('a write that Kafka refuses is not retried and fails alone: later ones are written', async () => {
  const kafka = await connection([compacted])
  const { table, writer } = await instance(kafka)
  let decided = 0
  const refused = writer.write(() => {
    decided += 1
    return { records: [{ topic: 'settings', key: 'a', value: 'a'.repeat(2_000_000) }] }
  })
  const behind = writer.write(() => ({ records: [{ topic: 'settings', key: 'b', value: 'b' }] }))
  expect(await refused).toMatchObject({ ok: false, unavailable: { type: 'MESSAGE_TOO_LARGE' } })
  expect(await behind).toEqual({ ok: true })
  expect([...table.entries()].map(([key]) => key)).toEqual(['b'])
  // each write has five tries at least
  expect(decided).toBeLessThan(5)
})

test('a refused write among others fails alone, and no decision builds on it', async () => {
  const kafka = await connection([])
  await narrowTopic(kafka, 'settings', 20_000)
  const { table, writer } = await instance(kafka)
  const put = (key: string, length: number) =>
    writer.write(() => ({ records: [{ topic: 'settings', key, value: 'x'.repeat(length) }] }))
  const looked = () => writer.write(() => ({ refusal: `large: ${table.get('large')?.length}` }))
  // Kafka accepts each of the two, but not both in one batch
  const outcomes = await Promise.all([
    looked(),
    put('a', 15_000),
    put('b', 15_000),
    looked(),
    put('large', 30_000),
    looked(),
    put('c', 1),
  ])
  const refused = { ok: false, refusal: 'large: undefined' }
  expect(outcomes).toEqual([
    refused,
    { ok: true },
    { ok: true },
    refused,
    { ok: false, unavailable: expect.objectContaining({ type: 'MESSAGE_TOO_LARGE' }) },
    refused,
    { ok: true },
  ])
  expect([...table.entries()].map(([key]) => key).toSorted()).toEqual(['a', 'b', 'c'])
})

test('a closed writer stops retrying', async () => {
  let tries = 0
  const kafka = sending(await connection([compacted]), async () => {
    tries += 1
    throw new Error('no')
  })
  const { writer } = await instance(kafka)
  const written = writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '1' }] }))
  await until(() => tries > 2)
  await writer.close()
  // one can be under way
  const most = tries + 1
  expect(await written).toMatchObject({ ok: false, unavailable: expect.any(Error) })
  expect(tries).toBeLessThanOrEqual(most)
})

async function endOf(kafka: Connection): Promise<number> {
  const admin = kafka.kafka.admin()
  await admin.connect()
  const [partition] = await admin.fetchTopicOffsets(kafka.named('settings'))
  await admin.disconnect()
  return Number(partition?.high)
}

test('a table never returns to an older value, although its consumer restarts after each rebalance', async () => {
  const kafka = await connection([compacted])
  const producer = closing(await createProducer(kafka))
  const put = (value: number) => producer.produce([{ topic: 'settings', key: 'a', value: String(value) }])
  const seen: number[] = []
  const onChange = (_: string, value: Buffer | undefined) => void seen.push(Number(value))
  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal, onChange }))
  await table.loaded
  for (const value of [1, 2, 3]) await put(value)
  await until(() => seen.length === 3)
  await joinAndLeave(kafka)
  await put(4)
  await until(() => seen.includes(4))
  expect(seen).toEqual([1, 2, 3, 4])
})

/** The table's group rebalances twice. */
async function joinAndLeave(kafka: Connection): Promise<void> {
  const [groupId = ''] = await groupsOf(kafka, 'table.settings')
  const intruder = kafka.kafka.consumer({ groupId })
  const joined = new Promise((resolve) => intruder.on(intruder.events.GROUP_JOIN, resolve))
  await intruder.connect()
  await intruder.subscribe({ topics: [kafka.named('settings')] })
  await intruder.run({ eachMessage: async () => undefined, autoCommit: false })
  await joined
  await intruder.disconnect()
}
