import { randomUUID } from 'node:crypto'
import type { Producer } from 'kafkajs'
import { expect, test } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { createFencedWriter } from '../../kafka/produce/transactions.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { closing, connection } from '../helpers/cluster.ts'

const compacted = { name: 'settings', partitions: 1 as const, retention: 'compact' as const }
const onFatal = (error: Error) => {
  throw error
}

test('a partial write of a killed writer stays invisible, and the next writer does not wait for it', async () => {
  const kafka = await connection([compacted])
  const killed = kafka.kafka.producer({ transactionalId: kafka.named('writer'), idempotent: true })
  await killed.connect()
  const half = await killed.transaction()
  const messages = ['a', 'b'].map((key) => ({ key, value: 'half' }))
  await half.send({ topic: kafka.named('settings'), messages })
  await killed.disconnect()

  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  const writer = closing(createFencedWriter({ connection: kafka, transactionalId: 'writer', table }))
  const seen: (string | undefined)[] = []
  const written = await writer.write(() => {
    seen.push(table.get('a')?.toString())
    return { records: [{ topic: 'settings', key: 'b', value: 'whole' }] }
  })
  expect(written).toEqual({ ok: true })
  expect(new Set(seen)).toEqual(new Set([undefined]))
  expect([...table.entries()].map(([key, value]) => [key, String(value)])).toEqual([['b', 'whole']])
})

function producing(from: Connection, changed: (producer: Producer) => Partial<Producer>): Connection {
  const kafka: typeof from.kafka = Object.create(from.kafka)
  kafka.producer = (config) => {
    const producer = from.kafka.producer(config)
    return { ...producer, ...changed(producer) }
  }
  return { ...from, kafka }
}

async function instance(kafka: Connection) {
  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  await table.loaded
  const writer = closing(createFencedWriter({ connection: kafka, transactionalId: 'writer', table }))
  const put = (key: string, value: string) =>
    writer.write(() => ({ records: [{ topic: 'settings', key, value }] }))
  return { table, writer, put }
}

/** The answer to the first commit is lost, after `act`. */
function losingCommit(from: Connection, act = async (): Promise<unknown> => ({ ok: true })): Connection {
  let isLost = false
  return producing(from, (producer) => ({
    transaction: async () => {
      const begun = await producer.transaction()
      const commit = async () => {
        await begun.commit()
        if (isLost) return
        isLost = true
        expect(await act()).toEqual({ ok: true })
        throw new Error('lost')
      }
      return { ...begun, commit }
    },
  }))
}

test('a write whose acknowledgement is lost is written once', async () => {
  const { table, writer } = await instance(losingCommit(await connection([compacted])))
  const count = () => Number.parseInt(String(table.get('counter') ?? 0), 10)
  const written = await Promise.all(
    Array.from({ length: 5 }, () =>
      writer.write(() => ({
        records: [{ topic: 'settings', key: 'counter', value: `${count() + 1} ${randomUUID()}` }],
      })),
    ),
  )
  expect(written.every(({ ok }) => ok)).toBe(true)
  expect(count()).toBe(5)
})

test('a write whose acknowledgement is lost counts as written, even if another instance has replaced it', async () => {
  const plain = await connection([compacted])
  const other = await instance(plain)
  const { table, writer } = await instance(losingCommit(plain, () => other.put('a', 'second')))
  const written = await writer.write(() => {
    const found = table.get('a')?.toString()
    return found ? { refusal: found } : { records: [{ topic: 'settings', key: 'a', value: 'first' }] }
  })
  expect(written).toEqual({ ok: true })
  expect(String(table.get('a'))).toBe('second')
})

/** Runs `act` just before the first batch is sent. */
function fencedOnce(from: Connection, act: () => Promise<unknown>): Connection {
  let isFenced = false
  return producing(from, (producer) => ({
    transaction: async () => {
      const begun = await producer.transaction()
      const sendBatch: typeof begun.sendBatch = async (batch) => {
        if (!isFenced) expect(await act()).toEqual({ ok: true })
        isFenced = true
        return begun.sendBatch(batch)
      }
      return { ...begun, sendBatch }
    },
  }))
}

test('a write is not lost because another instance has made one of those written with it', async () => {
  const plain = await connection([compacted])
  const other = await instance(plain)
  const { table, put } = await instance(fencedOnce(plain, () => other.put('session/1', 'ended')))
  const written = await Promise.all([put('session/1', 'ended'), put('session/2', 'ended')])
  expect(written).toEqual([{ ok: true }, { ok: true }])
  expect([...table.entries()].map(([key]) => key)).toEqual(['session/1', 'session/2'])
})

test('a fenced write is decided again, even if another instance has written the same', async () => {
  const plain = await connection([compacted])
  const other = await instance(plain)
  const { table, writer } = await instance(fencedOnce(plain, () => other.put('a', 'same')))
  const written = await writer.write(() =>
    table.get('a') ? { refusal: 'taken' } : { records: [{ topic: 'settings', key: 'a', value: 'same' }] },
  )
  expect(written).toEqual({ ok: false, refusal: 'taken' })
})

test('a write that Kafka has lost is decided again, even if another one has taken its offset', async () => {
  const plain = await connection([compacted])
  const other = await instance(plain)
  let last = -1
  const watched = closing(await openTable({ connection: plain, topic: 'settings', onFatal }))
  watched.onRead(({ offset }) => {
    last = offset
  })
  expect(await other.put('b', '1')).toEqual({ ok: true })
  let offset: number | undefined
  const kafka = producing(plain, (producer) => ({
    transaction: async () => {
      const begun = await producer.transaction()
      const sendBatch: typeof begun.sendBatch = async (batch) => {
        if (offset !== undefined) return begun.sendBatch(batch)
        await watched.caughtUp()
        // after the marker of the commit
        offset = last + 2
        return [
          { topicName: plain.named('settings'), partition: 0, errorCode: 0, baseOffset: String(offset) },
        ]
      }
      const commit = async () => {
        if (offset === undefined || last >= offset) return begun.commit()
        expect(await other.put('b', '2')).toEqual({ ok: true })
        await watched.caughtUp()
        expect(last).toBe(offset)
        throw new Error('lost')
      }
      return { ...begun, sendBatch, commit }
    },
  }))
  const { table, put } = await instance(kafka)
  expect(await put('a', 'ours')).toEqual({ ok: true })
  expect([...table.entries()].map(([key, value]) => `${key}=${value}`)).toEqual(['b=2', 'a=ours'])
})

test('a producer that cannot take over the id is disconnected', async () => {
  let [failures, connected] = [3, 0]
  const kafka = producing(await connection([compacted]), (producer) => ({
    async connect() {
      await producer.connect()
      connected += 1
    },
    transaction: async () => (failures-- > 0 ? Promise.reject(new Error('no')) : producer.transaction()),
    async disconnect() {
      await producer.disconnect()
      connected -= 1
    },
  }))
  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  const writer = closing(createFencedWriter({ connection: kafka, transactionalId: 'writer', table }))
  const write = () => writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '1' }] }))
  for (let time = 0; time < 3; time++) expect(await write()).toMatchObject({ ok: false })
  expect(connected).toBe(0)
  expect(await write()).toEqual({ ok: true })
  expect(connected).toBe(1)
})

test('a producer that connects after the writer was closed is disconnected and writes nothing', async () => {
  const { promise: mayConnect, resolve: goOn } = Promise.withResolvers<void>()
  const disconnected = Promise.withResolvers<void>()
  const kafka = producing(await connection([compacted]), (producer) => ({
    async connect() {
      await mayConnect
      await producer.connect()
    },
    async disconnect() {
      await producer.disconnect()
      disconnected.resolve()
    },
  }))
  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  const writer = createFencedWriter({ connection: kafka, transactionalId: 'writer', table })
  const written = writer.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '1' }] }))
  await writer.close()
  goOn()
  expect(await written).toMatchObject({ ok: false, unavailable: expect.any(Error) })
  await disconnected.promise
  expect([...table.entries()]).toEqual([])
})
