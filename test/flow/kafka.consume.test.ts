import { connect as dial, type Socket } from 'node:net'
import { expect, inject, test, vi } from 'vitest'
import { bytes } from '../../deliverer/rungs.ts'
import type { Connection } from '../../kafka/client.ts'
import { type ConsumeOptions, type Consumer, consume } from '../../kafka/consume/consume.ts'
import type { ConsumerRecord, Handler } from '../../kafka/consume/record.ts'
import { Kafka, logLevel } from '../../kafka/patches/kafkajs.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { openRangeGroup } from '../../kafka/tables/ranges.ts'
import { openReader } from '../../kafka/tables/reader.ts'
import { within } from '../../process/timeout.ts'
import {
  COORDINATOR_LOADING,
  FIND_COORDINATOR,
  HEARTBEAT,
  JOIN_GROUP,
  METADATA,
  NO_COORDINATOR,
  NO_RIGHT,
  REBALANCE,
  SYNC_GROUP,
  UNEXPECTED,
  UNKNOWN_MEMBER,
  withAnswers,
} from '../helpers/answers.ts'
import { ownBroker } from '../helpers/broker.ts'
import { closing, connection, readAll } from '../helpers/cluster.ts'
import { collectGarbage } from '../helpers/garbage.ts'
import { until } from '../helpers/until.ts'
import { aTracer } from '../trace/collected.ts'

type Record = ConsumerRecord<Buffer>

async function start(
  kafka: Connection,
  producer: Producer,
  handle: Handler<Buffer>,
  options: Partial<ConsumeOptions<Buffer>> = {},
): Promise<Consumer> {
  const onFatal = (error: Error) => {
    throw error
  }
  const consumer = await consume({
    connection: kafka,
    group: 'work',
    topics: ['work'],
    codec: bytes,
    producer,
    handle,
    onFatal,
    ...options,
  })
  await consumer.joined
  return consumer
}

async function fill(producer: Producer, from: number, to: number): Promise<void> {
  const records = Array.from({ length: to - from }, (_, index) => ({
    topic: 'work',
    key: `k${(from + index) % 50}`,
    value: Buffer.from(String(from + index)),
  }))
  expect(await producer.produce(records)).toBe('acked')
}

async function committed(kafka: Connection): Promise<Map<number, number>> {
  const admin = kafka.kafka.admin()
  await admin.connect()
  const [topic] = await admin.fetchOffsets({ groupId: kafka.named('work'), topics: [kafka.named('work')] })
  await admin.disconnect()
  return new Map(topic?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
}

const number = (record: Record) => Number(record.value)

test('a settled record does not keep its contents in memory', async () => {
  const kafka = await connection([{ name: 'work' }])
  const producer = closing(await createProducer(kafka))
  const ends: Pick<Record, 'settle' | 'release' | 'park' | 'owned'>[] = []
  const values: WeakRef<Buffer>[] = []
  const consumer = await start(kafka, producer, ({ settle, release, park, owned, value }) => {
    ends.push({ settle, release, park, owned })
    values.push(new WeakRef(value))
    return undefined
  })
  closing(consumer)
  await fill(producer, 0, 3)
  await until(() => {
    collectGarbage()
    return values.length === 3 && values.every((value) => value.deref() === undefined)
  })
  for (const { settle } of ends) settle()
  await until(() => consumer.loads().every(({ unsettled }) => unsettled === 0))
})

test('a held partition does not hold the others, and continues when its time has come', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  await fill(producer, 0, 400)
  const seen: Record[] = []
  /** Until when, and when the record came again. */
  const held: number[] = []
  const cameAgain: number[] = []
  let isHeld = true
  closing(
    await start(kafka, producer, (record) => {
      if (record.partition === 0) {
        if (held.length > cameAgain.length) cameAgain.push(Date.now())
        if (isHeld) {
          held.push(Date.now() + 300)
          return { holdUntil: Date.now() + 300 }
        }
      }
      seen.push(record)
      record.settle()
      return
    }),
  )
  await until(() => held.length > 2 && new Set(seen.map(({ partition }) => partition)).size === 3)
  expect(seen.some(({ partition }) => partition === 0)).toBe(false)
  isHeld = false
  await until(() => seen.length === 400)
  expect(cameAgain).toHaveLength(held.length)
  expect(cameAgain.filter((at, time) => at < (held[time] ?? 0))).toEqual([])
})

test('commits only offsets below which all is settled, and records what is settled above', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  await fill(producer, 0, 100)
  const taken: Record[] = []
  const first = await start(kafka, producer, (record) => void taken.push(record))
  await until(() => taken.length === 100)
  for (const record of taken) if (number(record) !== 10 && number(record) !== 60) record.settle()
  await until(async () => (await committed(kafka)).get(0) === 10)
  taken.find((record) => number(record) === 10)?.settle()
  await until(async () => (await committed(kafka)).get(0) === 60)
  await first.close(100)

  const again: number[] = []
  closing(
    await start(kafka, producer, (record) => {
      again.push(number(record))
      record.settle()
      return
    }),
  )
  await fill(producer, 100, 101)
  await until(() => again.includes(100))
  // 61 to 99 were settled ahead of the commit: its metadata says so
  expect(again).toEqual([60, 100])
})

test('a partition with unsettled records pauses at the high-water mark, and resumes below it', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  for (let from = 0; from < 5_000; from += 500) await fill(producer, from, from + 500)
  const taken: Record[] = []
  closing(
    await start(kafka, producer, (record) => void taken.push(record), {
      highWater: 100,
      maxBytesPerPartition: 4_096,
    }),
  )
  await until(() => taken.length >= 100)
  const before = taken.length
  await fill(producer, 5_000, 5_001)
  expect(taken.length).toBe(before)
  expect(before).toBeLessThan(1_500)
  const settling = setInterval(() => {
    for (const record of taken) record.settle()
  }, 10)
  await until(() => taken.length === 5_001).finally(() => clearInterval(settling))
})

test('a record whose handler throws a TypeError is parked, and the group continues', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  await fill(producer, 0, 10)
  const seen: number[] = []
  closing(
    await start(kafka, producer, (record) => {
      if (number(record) === 4) throw new TypeError('cannot read properties of undefined')
      seen.push(number(record))
      record.settle()
      return
    }),
  )
  await until(async () => (await committed(kafka)).get(0) === 10)
  expect(seen).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 9])
  const [parked] = await readAll(kafka, 'parked')
  expect(parked).toMatchObject({ key: 'k4', headers: { 'parked-topic': 'work', 'parked-offset': '4' } })
  expect(parked?.headers['parked-reason']).toContain('TypeError')
  expect(String(parked?.value)).toBe('4')
})

test('a record that no trace can describe is parked, and the group continues', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  await fill(producer, 0, 3)
  const { tracer } = aTracer()
  const describe = (value: Buffer) => {
    if (String(value) === '1') throw new TypeError('cannot be described')
    return {}
  }
  const seen: number[] = []
  const handle: Handler<Buffer> = (record) => {
    seen.push(number(record))
    record.settle()
    return undefined
  }
  closing(await start(kafka, producer, handle, { tracer, describe }))
  await until(async () => (await committed(kafka)).get(0) === 3)
  expect(seen).toEqual([0, 2])
  const [parked] = await readAll(kafka, 'parked')
  expect(parked?.headers).toMatchObject({ 'parked-offset': '1' })
})

test('work that depends on owning a partition finishes before the partition is given away', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  const order: string[] = []
  async function member(name: string): Promise<Consumer> {
    let underWay = 0
    const onGivingUp = () => {
      underWay = 1
      setTimeout(() => {
        underWay = 0
        order.push(`${name} is through`)
      }, 1_500)
    }
    const options = { onGivingUp, alsoInFlight: () => underWay }
    const consumer = await start(kafka, producer, () => undefined, options)
    order.push(`${name} has joined`)
    return consumer
  }
  const first = await member('first')
  await until(first.owns)
  const second = closing(await member('second'))
  expect(order).toEqual(['first has joined', 'first is through', 'second has joined'])
  await until(() => first.owns() !== second.owns())
  order.length = 0
  await first.close()
  expect(order[0]).toBe('first is through')
  expect(first.owns()).toBe(false)
  await until(second.owns)
})

test('a second member joining under load loses nothing, and repeats nothing settled', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const handled = new Map<number, number>()
  // many are in flight whenever the group changes
  const handle: Handler<Buffer> = (record) => {
    setTimeout(() => {
      if (!record.owned()) return record.release()
      handled.set(number(record), (handled.get(number(record)) ?? 0) + 1)
      record.settle()
    }, Math.random() * 100)
    return
  }
  // partitions are full, and so paused, whenever the group changes
  const small = { highWater: 20, maxBytesPerPartition: 512 }
  closing(await start(kafka, producer, handle, small))
  let sent = 0
  const load = setInterval(() => {
    // always more than they hold, but not so many that the rest takes long
    if (sent - handled.size > 400) return
    void fill(producer, sent, sent + 20)
    sent += 20
  }, 15)
  await until(() => handled.size > 500)
  const more = (count: number) => {
    const before = handled.size
    return until(() => handled.size > before + count)
  }
  const second = await start(kafka, producer, handle, small)
  await more(500)
  await second.close()
  await more(500)
  // the third stays: only settling may resume the first one's partitions
  closing(await start(kafka, producer, handle, small))
  await more(500)
  clearInterval(load)
  await until(() => handled.size === sent, { message: () => `${handled.size} of ${sent}` })
  expect([...handled.values()].filter((times) => times > 1)).toEqual([])
})

test('another program with the same group id is refused and takes no records', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const seen = new Set<number>()
  const handle: Handler<Buffer> = ({ value, settle }) => {
    seen.add(Number(value))
    settle()
  }
  closing(await start(kafka, producer, handle))
  const groupId = kafka.named('work')
  const client = new Kafka({ brokers: [inject('kafkaBrokers')], logLevel: logLevel.NOTHING })
  const other = client.consumer({ groupId })
  closing({ close: () => other.disconnect() })
  const outcome = new Promise<unknown>((resolve) => {
    other.on(other.events.CRASH, ({ payload }) => resolve(payload.error))
    other.on(other.events.GROUP_JOIN, () => resolve('it was let in'))
  })
  await other.connect()
  await other.subscribe({ topics: [kafka.named('work')], fromBeginning: true })
  other.run({ eachMessage: async () => undefined }).catch(() => undefined)
  await fill(producer, 0, 200)
  expect(await outcome).toMatchObject({ type: 'INCONSISTENT_GROUP_PROTOCOL' })
  await until(() => seen.size === 200)
})

test('a start while another program is in the group names the group and an offset that it committed', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  await fill(producer, 0, 10)
  const client = new Kafka({ brokers: [inject('kafkaBrokers')], logLevel: logLevel.NOTHING })
  const other = client.consumer({ groupId: kafka.named('work') })
  const joined = new Promise((resolve) => void other.on(other.events.GROUP_JOIN, resolve))
  const committed = new Promise((resolve) => void other.on(other.events.COMMIT_OFFSETS, resolve))
  await other.connect()
  await other.subscribe({ topics: [kafka.named('work')], fromBeginning: true })
  await other.run({ autoCommitThreshold: 1, eachMessage: async () => undefined })
  await Promise.all([joined, committed])
  const handle: Handler<Buffer> = ({ settle }) => {
    settle()
  }
  await expect(start(kafka, producer, handle)).rejects.toThrow(
    `another program has joined consumer group ${kafka.named('work')}`,
  )
  await other.disconnect()
  const warned: object[] = []
  const log = Object.assign(Object.create(kafka.log), { warn: (of: object) => void warned.push(of) })
  closing(await start({ ...kafka, log }, producer, handle))
  await until(() => warned.length > 0)
  expect(warned[0]).toMatchObject({ groupId: kafka.named('work'), topic: kafka.named('work') })
})

test('after a broker restart every record is handled, from the committed offsets on', async () => {
  const broker = await ownBroker()
  const kafka = await connection([{}], broker.now.brokers)
  const producer = closing(await createProducer(kafka))
  const handled: number[] = []
  closing(
    await start(kafka, producer, (record) => {
      handled.push(number(record))
      record.settle()
      return
    }),
  )
  await fill(producer, 0, 500)
  await until(() => handled.length === 500)
  await until(
    async () => [...(await committed(kafka)).values()].reduce((sum, offset) => sum + offset, 0) === 500,
  )
  await broker.restart('kill')
  await fill(producer, 500, 1_000)
  await until(() => new Set(handled).size === 1_000, { message: () => `${handled.length} of 1000` })
  // what was committed is not handled again
  expect(handled.filter((value) => value < 500)).toHaveLength(500)
})

const rebalance = { key: HEARTBEAT, error: REBALANCE }
const noCoordinator = { key: FIND_COORDINATOR, error: NO_COORDINATOR }
/** More often than the client asks. */
const again = <T>(answer: T): T[] => Array.from({ length: 6 }, () => answer)

test.each<[string, { key: number; error: number }[]]>([
  [
    'is unknown, and may not join while the coordinator loads',
    [
      { key: HEARTBEAT, error: UNKNOWN_MEMBER },
      { key: JOIN_GROUP, error: COORDINATOR_LOADING },
    ],
  ],
  [
    'has joined, and is not told its partitions while the coordinator loads',
    [rebalance, { key: SYNC_GROUP, error: COORDINATOR_LOADING }],
  ],
  ['finds no coordinator', [rebalance, ...again(noCoordinator)]],
  ['gets unexpected errors for heartbeats', again({ key: HEARTBEAT, error: UNEXPECTED })],
  ['gets unexpected errors for joins', [rebalance, ...again({ key: JOIN_GROUP, error: UNEXPECTED })]],
  [
    'is not told its partitions for unexpected errors',
    [rebalance, ...again({ key: SYNC_GROUP, error: UNEXPECTED })],
  ],
])('a member that %s, is one again', async (_what, answers) => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  const { connection: behindDoor, errors } = await withAnswers(kafka, inject('kafkaBrokers'))
  const taken = new Set<number>()
  closing(
    await start(behindDoor, producer, (record) => {
      taken.add(number(record))
      record.settle()
    }),
  )
  await fill(producer, 0, 10)
  await until(async () => (await committed(kafka)).get(0) === 10)
  errors.push(...answers)
  await until(() => errors.length === 0)
  await fill(producer, 10, 20)
  await until(async () => (await committed(kafka)).get(0) === 20, {
    message: () => `${taken.size} of 20 taken`,
  })
  expect(taken.size).toBe(20)
})

test('a start goes on after a broker has reset its connection', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  const { connection: behindDoor, errors } = await withAnswers(kafka, inject('kafkaBrokers'))
  const reset = { key: METADATA, error: 'reset' } as const
  errors.push(reset)
  const taken: number[] = []
  const consumer = await start(behindDoor, producer, (record) => {
    taken.push(number(record))
    record.settle()
  })
  closing(consumer)
  await fill(producer, 0, 10)
  await until(() => taken.length === 10)
  errors.push(reset)
  closing(await openReader({ connection: behindDoor, topic: 'work', onFatal: () => undefined }))
  expect(errors).toEqual([])
})

test('a group of ranges whose user may not join fails, so that its task is tried again', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const { connection: behindDoor, errors } = await withAnswers(kafka, inject('kafkaBrokers'))
  const ranges = [{ partition: 0, from: 0, to: 1 }]
  const group = closing(await openRangeGroup(behindDoor, { group: 'ranges', topic: 'work', ranges }))
  errors.push({ key: JOIN_GROUP, error: NO_RIGHT })
  await expect(group.begin()).rejects.toThrow(/not authorized/i)
  expect(errors).toEqual([])
})

test('the starts of ranges do not look like commits of another program', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const producer = closing(await createProducer(kafka))
  await fill(producer, 0, 10)
  const ranges = [{ partition: 0, from: 5, to: 10 }]
  const group = closing(await openRangeGroup(kafka, { group: 'work', topic: 'work', ranges }))
  await group.begin()
  const warn = vi.spyOn(kafka.log, 'warn')
  let taken = 0
  const handle: Handler<Buffer> = ({ settle }) => {
    taken += 1
    settle()
  }
  closing(await start(kafka, producer, handle))
  await until(() => taken === 5)
  expect(warn).not.toHaveBeenCalled()
})

test('a member that has just written the starts of ranges, and was killed, does not keep their consumer out', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const make = kafka.kafka.consumer.bind(kafka.kafka)
  vi.spyOn(kafka.kafka, 'consumer').mockImplementationOnce((config) => {
    const consumer = make(config)
    const { disconnect } = consumer
    closing({ close: disconnect })
    // it stays in the group
    return Object.assign(consumer, { disconnect: async () => undefined })
  })
  const ranges = [{ partition: 0, from: 0, to: 1 }]
  const group = closing(await openRangeGroup(kafka, { group: 'work', topic: 'work', ranges }))
  await group.begin()
  const producer = closing(await createProducer(kafka))
  closing(await start(kafka, producer, () => undefined))
})

test('a consumer that cannot start is disconnected: its caller may try again', async () => {
  const kafka = await connection([{ partitions: 1 }])
  const make = kafka.kafka.consumer.bind(kafka.kafka)
  const disconnected = vi.fn()
  vi.spyOn(kafka.kafka, 'consumer').mockImplementationOnce((config) => {
    const consumer = make(config)
    consumer.on(consumer.events.DISCONNECT, disconnected)
    // not retried, unlike other failures
    vi.spyOn(consumer, 'subscribe').mockRejectedValueOnce(new Error('Topic authorization failed'))
    return consumer
  })
  const producer = closing(await createProducer(kafka))
  await expect(start(kafka, producer, () => undefined)).rejects.toThrow('authorization failed')
  expect(disconnected).toHaveBeenCalledOnce()
})

/** Its session is longer than the test. */
async function aKilledMember(kafka: Connection, clientId: string): Promise<void> {
  const sockets: Socket[] = []
  let killed = false
  const client = new Kafka({
    clientId,
    brokers: [inject('kafkaBrokers')],
    logLevel: logLevel.NOTHING,
    socketFactory: ({ host, port, onConnect }) => {
      const socket = dial(port, host, onConnect)
      sockets.push(socket)
      return killed ? socket.destroy(new Error('killed')) : socket
    },
  })
  const consumer = client.consumer({
    groupId: kafka.named('work'),
    sessionTimeout: 300_000,
    rebalanceTimeout: 300_000,
  })
  closing({ close: () => within(2_000, consumer.disconnect()) })
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve))
  await consumer.connect()
  await consumer.subscribe({ topic: kafka.named('work') })
  await consumer.run({ autoCommit: false, eachBatch: async () => undefined })
  await joined
  killed = true
  for (const socket of sockets) socket.destroy()
}

test('a process restarted after a kill does not wait for its old group membership', async () => {
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const clientId = 'sluice-router/web-1/0.0.0.0:8082'
  await aKilledMember(kafka, clientId)
  const again = new Kafka({ clientId, brokers: [inject('kafkaBrokers')], logLevel: logLevel.NOTHING })
  const taken = new Set<number>()
  closing(
    await start({ ...kafka, kafka: again, soleClientId: clientId }, producer, (record) => {
      taken.add(number(record))
      record.settle()
    }),
  )
  await fill(producer, 0, 10)
  await until(() => taken.size === 10)
})
