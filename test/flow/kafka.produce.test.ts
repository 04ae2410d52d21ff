import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProducer } from '../../kafka/produce/produce.ts'
import { borrowBroker, type OwnBroker } from '../helpers/broker.ts'
import { closing, connection, narrowTopic, readAll } from '../helpers/cluster.ts'

const value = (text: string) => Buffer.from(text)

test('acknowledged records are in the topic, in the order of their key', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const outcomes = await Promise.all(
    Array.from({ length: 2_000 }, (_, index) =>
      producer.produce([{ topic: 'work', key: `k${index % 7}`, value: value(String(index)) }]),
    ),
  )
  expect(new Set(outcomes)).toEqual(new Set(['acked']))
  const records = await readAll(kafka, 'work')
  expect(records).toHaveLength(2_000)
  for (let key = 0; key < 7; key++) {
    const numbers = records.filter((record) => record.key === `k${key}`).map((record) => Number(record.value))
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  }
})

test('a record above the size limit is refused without affecting others', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const [large, small] = await Promise.all([
    producer.produce([{ topic: 'work', key: 'a', value: Buffer.alloc(1_000_001) }]),
    producer.produce([{ topic: 'work', key: 'a', value: value('small') }]),
  ])
  expect([large, small]).toEqual(['too_large', 'acked'])
})

test('a list of records is created while it is sent, and does not delay other producers of the process', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const many = 20_000
  let made = 0
  const list = {
    count: many,
    record(place: number) {
      made += 1
      return { topic: 'work', key: 'busy', value: value(String(place)) }
    },
  }
  const busy = producer.produceList(list, { flow: 'busy' })
  const quiet = await producer.produce([{ topic: 'work', key: 'quiet', value: value('0') }], {
    flow: 'quiet',
  })
  expect([quiet, made < many]).toEqual(['acked', true])
  expect(producer.queuedBytes()).toBeLessThan(many * 10)
  expect(await busy).toBe('acked')
  const records = (await readAll(kafka, 'work')).filter(({ key }) => key === 'busy')
  expect(records.map((record) => String(record.value))).toEqual(
    Array.from({ length: many }, (_, place) => String(place)),
  )
  expect([made, producer.queuedBytes()]).toEqual([many, 0])
})

test('a list whose first record is above the size limit is refused', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const record = () => ({ topic: 'work', key: 'a', value: Buffer.alloc(1_000_001) })
  expect(await producer.produceList({ count: 2, record })).toBe('too_large')
  expect(await readAll(kafka, 'work')).toEqual([])
})

test('a record that the broker refuses does not fail those sent with it', async () => {
  const kafka = await connection([{}])
  await narrowTopic(kafka, 'narrow', 2_000)
  const producer = closing(await createProducer(kafka))
  const tooLarge = () => producer.produce([{ topic: 'narrow', key: 'a', value: Buffer.alloc(5_000) }])
  const outcomes = await Promise.all([
    tooLarge(),
    producer.produce([{ topic: 'work', key: 'a', value: value('1') }]),
    producer.produce([{ topic: 'narrow', key: 'a', value: value('2') }]),
  ])
  expect(outcomes).toEqual(['refused', 'acked', 'acked'])
})

test('above the byte limit records are refused at once', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka, { maxQueuedBytes: 10_000 }))
  const first = producer.produce([{ topic: 'work', key: 'a', value: Buffer.alloc(20_000) }])
  expect(await producer.produce([{ topic: 'work', key: 'a', value: value('late') }])).toBe('full')
  expect(await first).toBe('acked')
  expect(producer.queuedBytes()).toBe(0)
})

test('a flow that fills the queue leaves a quarter of it to flows that use little', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka, { maxQueuedBytes: 40_000 }))
  const sent = (flow: string, bytes: number) =>
    producer.produce([{ topic: 'work', key: flow, value: Buffer.alloc(bytes) }], { flow })
  const produced = [sent('large', 32_000), sent('large', 1), sent('small', 3_000), sent('', 1)]
  // now all flows together use more than the queue has
  const later = [sent('other', 3_000), sent('another', 1)]
  expect(await Promise.all(produced)).toEqual(['acked', 'full', 'acked', 'acked'])
  expect(await Promise.all(later)).toEqual(['acked', 'full'])
  expect(producer.queuedBytes()).toBe(0)
  expect(await sent('large', 1)).toBe('acked')
})

describe('a producer with a pace', () => {
  const record = (text: string) => ({ topic: 'work', key: 'a', value: value(text) })

  test('collects records after a small send, until enough of them wait', async () => {
    const kafka = await connection([{}])
    const sends: number[] = []
    const onAck = ({ records }: { records: number }) => void sends.push(records)
    const paced = closing(await createProducer(kafka, { pace: { ms: 60_000, fullAt: 3 }, onAck }))
    const unpaced = closing(await createProducer(kafka))
    expect(await paced.produce([record('1')])).toBe('acked')
    const second = paced.produce([record('2')])
    for (let round = 0; round < 5; round++) await unpaced.produce([record('other')])
    const others = [paced.produce([record('3')]), paced.produce([record('4')])]
    expect(await Promise.all([second, ...others])).toEqual(['acked', 'acked', 'acked'])
    await expect.poll(() => sends).toEqual([1, 3])
  })

  test('sends each record of a lone caller that waits for the answer at once, if its rule says so', async () => {
    const kafka = await connection([{}])
    const sends: number[] = []
    const onAck = ({ records }: { records: number }) => void sends.push(records)
    const pace = { ms: 60_000, fullAt: 3, onlyShared: true }
    const paced = closing(await createProducer(kafka, { pace, onAck }))
    const all = (...texts: string[]) => Promise.all(texts.map((text) => paced.produce([record(text)])))
    for (const text of ['1', '2', '3']) expect(await all(text)).toEqual(['acked'])
    // now several wait at the same time
    await all('4', '5', '6')
    await all('7')
    const eighth = all('8')
    await all('9', '10')
    await eighth
    await expect.poll(() => sends).toEqual([1, 1, 1, 3, 1, 3])
  })

  test('sends what it has when the time is over', async () => {
    const kafka = await connection([{}])
    const paced = closing(await createProducer(kafka, { pace: { ms: 100, fullAt: 3 } }))
    for (const text of ['1', '2']) expect(await paced.produce([record(text)])).toBe('acked')
  })
})

describe('a broker that goes away', () => {
  let broker: OwnBroker
  beforeAll(async () => {
    broker = await borrowBroker()
  })
  afterAll(() => broker?.close())

  test('acknowledged records survive a restart of the broker under two producers', async () => {
    const kafka = await connection([{}], broker.now.brokers)
    const producers = [closing(await createProducer(kafka)), closing(await createProducer(kafka))]
    const acked: string[] = []
    let sending = true
    const senders = producers.map(async (producer, who) => {
      for (let index = 0; sending; index++) {
        const names = Array.from({ length: 50 }, (_, item) => `${who}.${index}.${item}`)
        const outcome = await producer.produce(
          names.map((name) => ({ topic: 'work', key: name, value: value(name) })),
        )
        if (outcome === 'acked') acked.push(...names)
      }
    })
    const ackedAtLeast = async (count: number) => expect.poll(() => acked.length).toBeGreaterThan(count)
    await ackedAtLeast(5_000)
    for (const how of ['kill', 'stop'] as const) {
      const before = acked.length
      await broker.restart(how)
      await ackedAtLeast(before + 5_000)
    }
    sending = false
    await Promise.all(senders)
    const found = new Set((await readAll(kafka, 'work')).map((record) => String(record.value)))
    expect(acked.filter((name) => !found.has(name))).toEqual([])
  })

  test('records waiting past their deadline are unknown, and are written once Kafka is back', async () => {
    const kafka = await connection([{}], broker.now.brokers)
    const producer = closing(await createProducer(kafka))
    const produce = (key: string, count: number, deadlineMs?: number) => {
      const records = Array.from({ length: count }, () => ({ topic: 'work', key, value: value(key) }))
      return producer.produce(records, deadlineMs === undefined ? {} : { deadlineMs })
    }
    expect(await produce('first', 1)).toBe('acked')
    await broker.now.kill()
    // 600 are more than fit in one send, so some still wait
    const outcomes = [produce('under way', 1, 300), produce('both', 600, 300), produce('behind', 1, 300)]
    const patient = produce('patient', 1)
    expect(await Promise.all(outcomes)).toEqual(['unknown', 'unknown', 'unknown'])
    await broker.restart('kill')
    expect(await patient).toBe('acked')
    const keys = (await readAll(kafka, 'work')).map((record) => record.key)
    expect(keys.filter((key) => key === 'both').length).toBeGreaterThanOrEqual(600)
    expect(keys).toEqual(expect.arrayContaining(['first', 'under way', 'behind', 'patient']))
    expect(producer.queuedBytes()).toBe(0)
  })

  test('records not acknowledged before the producer is closed are unknown, never acked', async () => {
    const kafka = await connection([{}], broker.now.brokers)
    const producer = await createProducer(kafka)
    expect(await producer.produce([{ topic: 'work', key: 'a', value: value('1') }])).toBe('acked')
    await broker.now.kill()
    const during = producer.produce([{ topic: 'work', key: 'a', value: value('2') }])
    await producer.close(300)
    const after = producer.produce([{ topic: 'work', key: 'a', value: value('3') }])
    expect(await Promise.all([during, after])).toEqual(['unknown', 'unknown'])
  })
})

test('records produced right after an acknowledgement are sent', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const record = { topic: 'work', key: 'k', value: 'v' }
  const outcomes: string[] = []
  for (let turns = 0; turns < 30; turns++) {
    await producer.produce([record])
    for (let turn = 0; turn < turns; turn++) await undefined
    outcomes.push(await producer.produce([record], { deadlineMs: 10_000 }))
  }
  expect(new Set(outcomes)).toEqual(new Set(['acked']))
})
