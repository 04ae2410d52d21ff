import { expect, test, vi } from 'vitest'
import { groupsOf } from '../../harness/kafka/topics.ts'
import type { Connection } from '../../kafka/client.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { createFencedWriter } from '../../kafka/produce/transactions.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { openTail, type TailOptions, type TailRecord } from '../../kafka/tables/tail.ts'
import { ownBroker } from '../helpers/broker.ts'
import { closing, connection } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'

const onFatal = (error: Error) => {
  throw error
}
const small = { name: 'small', partitions: 1 as const }

/** `seen`: as `topic/partition@offset=value`. */
async function follow(kafka: Connection, more: Partial<TailOptions> = {}) {
  const seen: string[] = []
  const records: TailRecord[] = []
  const tail = closing(
    await openTail({
      connection: kafka,
      topics: ['work'],
      last: () => 2,
      onRecord: (record) => {
        seen.push(`${record.topic}/${record.partition}@${record.offset}=${record.value}`)
        records.push(record)
      },
      onFatal,
      ...more,
    }),
  )
  return { seen, records, tail }
}

async function writer(kafka: Connection) {
  const producer = closing(await createProducer(kafka))
  /** Into one partition. */
  return async (topic: string, partition: number, values: readonly (string | number)[]) => {
    const records = values.map((value) => ({ topic, partition, key: 'k', value: String(value) }))
    expect(await producer.produce(records)).toBe('acked')
  }
}

test('a record for which the caller throws is skipped, and a line says so once a minute', async () => {
  const kafka = await connection([{}])
  const warn = vi.spyOn(kafka.log, 'warn')
  const write = await writer(kafka)
  const seen: string[] = []
  const onRecord = ({ value }: TailRecord) => void seen.push(JSON.stringify(JSON.parse(String(value))))
  const { tail } = await follow(kafka, { last: () => 10, onRecord })
  await tail.caughtUp
  await write('work', 0, ['1', 'no JSON', ...Array(50).fill('nor this'), '2'])
  await until(() => seen.includes('2'))
  expect(seen).toEqual(['1', '2'])
  const where = { topic: 'work', partition: 0, offset: 1 }
  const text = 'skipping a record that cannot be read'
  expect(warn.mock.calls.filter(([, said]) => said === text)).toEqual([
    [expect.objectContaining(where), text],
  ])
})

test('a tail begins a few records before the end of each partition of each topic, and follows', async () => {
  const kafka = await connection([{}, small])
  const write = await writer(kafka)
  await write('work', 0, ['a', 'b', 'c'])
  await write('work', 3, ['d'])
  await write('small', 0, ['e', 'f', 'g', 'h', 'i'])
  const asked: number[] = []
  const last = (partitions: number) => asked.push(partitions) && 2
  const { seen, tail } = await follow(kafka, { topics: ['work', 'small'], last })
  await tail.caughtUp
  const history = ['small/0@3=h', 'small/0@4=i', 'work/0@1=b', 'work/0@2=c', 'work/3@0=d']
  expect(seen.toSorted()).toEqual(history)
  expect(new Set(asked)).toEqual(new Set([4, 1]))
  expect(tail.begun).toContainEqual({ topic: 'work', partition: 0, low: 0, from: 1 })
  expect(tail.begun).toContainEqual({ topic: 'work', partition: 1, low: 0, from: 0 })
  await write('work', 1, ['j'])
  await write('work', 0, ['k'])
  await until(() => seen.length === 7)
  expect(seen.slice(5).toSorted()).toEqual(['work/0@3=k', 'work/1@0=j'])
})

test('past records are skipped once a partition has had too many bytes of them, and its last ones are read', async () => {
  const kafka = await connection([small])
  const write = await writer(kafka)
  const large = 'x'.repeat(300_000)
  for (let batch = 0; batch < 10; batch++) await write('small', 0, [large, large, large])
  await write('small', 0, ['a', 'b'])
  const { seen, tail } = await follow(kafka, { topics: ['small'], last: () => 100, pastBytes: 700_000 })
  await tail.caughtUp
  expect(seen.length).toBeLessThan(12)
  expect(seen.slice(-2)).toEqual(['small/0@30=a', 'small/0@31=b'])
  await write('small', 0, [...Array.from({ length: 6 }, () => large), 'c'])
  await until(() => seen.at(-1) === 'small/0@38=c')
  expect(seen.filter((each) => /@3[2-8]=/.test(each))).toHaveLength(7)
})

test('a record has its time, key and headers', async () => {
  const kafka = await connection([small])
  const producer = closing(await createProducer(kafka))
  const before = Date.now()
  const headers = { reason: 'refused' }
  await producer.produce([{ topic: 'small', key: 'crm/u1', value: null, headers }])
  const { records, tail } = await follow(kafka, { topics: ['small'] })
  await tail.caughtUp
  expect(records).toMatchObject([{ topic: 'small', partition: 0, offset: 0, value: null }])
  expect([String(records[0]?.key), String(records[0]?.headers.reason)]).toEqual(['crm/u1', 'refused'])
  expect(records[0]?.timestamp).toBeGreaterThanOrEqual(before)
  expect(records[0]?.timestamp).toBeLessThanOrEqual(Date.now())
})

test('with nothing to read, nothing selected, or a transaction marker at the end, it has caught up', async () => {
  const kafka = await connection([{}, { name: 'settings', partitions: 1, retention: 'compact' }])
  await (await follow(kafka)).tail.caughtUp
  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  await table.loaded
  const fenced = closing(createFencedWriter({ connection: kafka, transactionalId: 'writer', table }))
  await fenced.write(() => ({ records: [{ topic: 'settings', key: 'a', value: '1' }] }))
  const { seen, tail } = await follow(kafka, { topics: ['settings'] })
  await tail.caughtUp
  expect(seen).toEqual(['settings/0@0=1'])
  await (await follow(kafka, { topics: ['settings'], last: () => 0 })).tail.caughtUp
  const marker = await follow(kafka, { topics: ['settings'], last: () => 1 })
  await marker.tail.caughtUp
  expect(marker.seen).toEqual([])
})

test('if the beginning of a partition is deleted, the rest is read', async () => {
  const kafka = await connection([small])
  const write = await writer(kafka)
  await write('small', 0, ['a', 'b', 'c', 'd'])
  const admin = kafka.kafka.admin()
  await admin.connect()
  await admin.fetchTopicOffsets(kafka.named('small')) // else kafkajs does not know the leaders
  await admin.deleteTopicRecords({
    topic: kafka.named('small'),
    partitions: [{ partition: 0, offset: '3' }],
  })
  await admin.disconnect()
  const { seen, tail } = await follow(kafka, { topics: ['small'] })
  await tail.caughtUp
  expect(seen).toEqual(['small/0@3=d'])
  expect(tail.begun).toEqual([{ topic: 'small', partition: 0, low: 3, from: 3 }])
})

/** The tail's group rebalances twice. In between, it has half of the partitions. */
async function joinAndLeave(kafka: Connection, between: () => Promise<void>): Promise<void> {
  const [groupId = ''] = await groupsOf(kafka, 'tail.')
  const intruder = kafka.kafka.consumer({ groupId })
  const joined = new Promise((resolve) => intruder.on(intruder.events.GROUP_JOIN, resolve))
  await intruder.connect()
  await intruder.subscribe({ topics: [kafka.named('work')] })
  await intruder.run({ eachMessage: async () => undefined, autoCommit: false })
  await joined
  await between()
  await intruder.disconnect()
}

test('rebalances repeat and lose nothing', async () => {
  const kafka = await connection([{}])
  const write = await writer(kafka)
  const everywhere = async (value: string) => {
    for (const partition of [0, 1, 2, 3]) await write('work', partition, [value])
  }
  for (const value of ['too old', 'a', 'b']) await everywhere(value)
  const { seen, tail } = await follow(kafka)
  await tail.caughtUp
  await joinAndLeave(kafka, () => everywhere('c'))
  await everywhere('d')
  await until(() => seen.length >= 16, { message: () => `16 of ${seen}` })
  const values = [0, 1, 2, 3].map((partition) =>
    seen.filter((each) => each.startsWith(`work/${partition}`)).map((each) => each.slice(-1)),
  )
  expect(values).toEqual(Array(4).fill(['a', 'b', 'c', 'd']))
})

test('a restart of a killed broker repeats and loses nothing', async () => {
  const broker = await ownBroker()
  const kafka = await connection([small], broker.now.brokers)
  const write = await writer(kafka)
  await write('small', 0, [1, 2, 3])
  const { seen, tail } = await follow(kafka, { topics: ['small'] })
  await tail.caughtUp
  await broker.restart('kill')
  await write('small', 0, [4, 5])
  await until(() => seen.length >= 4, { message: () => `4 of ${seen}` })
  expect(seen).toEqual(['small/0@1=2', 'small/0@2=3', 'small/0@3=4', 'small/0@4=5'])
})

test('its group commits nothing, and is deleted with it', async () => {
  const kafka = await connection([{}])
  const write = await writer(kafka)
  await write('work', 0, ['a'])
  const { tail } = await follow(kafka)
  await tail.caughtUp
  const [groupId = '', ...others] = await groupsOf(kafka, 'tail.')
  expect(others).toEqual([])
  const admin = kafka.kafka.admin()
  await admin.connect()
  const [committed] = await admin.fetchOffsets({ groupId, topics: [kafka.named('work')] })
  expect(new Set(committed?.partitions.map(({ offset }) => offset))).toEqual(new Set(['-1']))
  await admin.disconnect()
  await tail.close()
  // closing waits for it for at most two seconds
  await until(async () => (await groupsOf(kafka, 'tail.')).length === 0)
})

test('a tail that fails to open leaves nothing behind', async () => {
  const kafka = await connection([{}])
  const last = () => expect.fail('too many partitions')
  await expect(follow(kafka, { last })).rejects.toThrow('too many')
  await until(async () => (await groupsOf(kafka, 'tail.')).length === 0)
})
