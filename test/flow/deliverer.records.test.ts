import got from 'got'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { deliveredAt } from '../../harness/arrivals.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import { PARKED } from '../../kafka/produce/park.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DELIVERIES, DUE, rungTopic } from '../../schemas/topics.ts'
import { lag, readAll } from '../helpers/cluster.ts'
import { readAttempts } from '../helpers/decoded.ts'
import { aDelivery } from '../helpers/events.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** Settings change while a delivery waits, on a slow machine too. */
const RUNG = '10s'
/** A record that leaves it cannot have waited for its end. */
const LONG_RUNG = '1h'

let receiver: Receiver
let has: ReturnType<typeof deliveredAt>
let sluice: System
let producer: Producer
let codec: Codec<Delivery>

beforeAll(async () => {
  receiver = await startReceiver()
  has = deliveredAt(receiver)
  sluice = await startSystem({ RETRY_LADDER: `${RUNG},${LONG_RUNG}` })
  producer = await createProducer(sluice.connection)
  const registry = openRegistry(readConfig(sluice.env, 'deliverer').registry)
  codec = await openCodec(registry, 'delivery', `${sluice.connection.named(DELIVERIES)}-value`)
  await sluice.destination('crm', [`${receiver.url}/`])
})

afterAll(async () => {
  await producer?.close()
  await Promise.all([sluice?.close(), receiver?.close()])
})

/** One user for each test: records and calls are in one partition. */
const track = (userId: string, messageId: string) => ({ type: 'track', userId, event: 'Paid', messageId })

const aRecord = (userId: string, messageId: string) =>
  codec.encode(aDelivery({ deliveryId: messageId, messageId, body: `{"userId":"${userId}"}` }))

async function put(topic: string, userId: string, value: Buffer | null, headers = {}): Promise<void> {
  const outcome = await producer.produce([{ topic, key: `crm/${userId}`, value, headers }])
  expect(outcome).toBe('acked')
}

const parked = async (userId: string) =>
  (await readAll(sluice.connection, PARKED)).filter(({ key }) => key === `crm/${userId}`)

const UNKNOWN_SCHEMA = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3])

test('records on a rung that only another deliverer defines are read from all partitions while both run', async () => {
  const PARTITIONS = 4
  /** @param name makes the ids unique: a record with the id of an earlier one would be dropped as a copy */
  async function fill(rung: string, name: string): Promise<void> {
    const records = Array.from({ length: PARTITIONS }, (_, partition) => ({
      topic: rungTopic(rung),
      partition,
      key: 'crm/u1',
      value: aRecord('u1', `${name}/${partition}`),
      headers: { dueAt: String(Date.now()) },
    }))
    expect(await producer.produce(records)).toBe('acked')
  }
  const missing = (name: string) =>
    Array.from({ length: PARTITIONS }, (_, partition) => `${name}/${partition}`).filter((id) => !has('/', id))
  // a deliverer looks for new rungs every 10 s, and its group may take 30 s to assign them
  const read = (name: string) =>
    until(() => missing(name).length === 0, { timeout: 90_000, message: () => `missing: ${missing(name)}` })

  // the second creates the rung, after the first has started
  const other = await sluice.another('deliverer', { RETRY_LADDER: '300ms' })
  await fill('300ms', 'new')
  await read('new')

  // both read the first one's rung, also after the second has ended
  await fill(RUNG, 'shared')
  await read('shared')
  expect(await other.stop()).toBe(0)
  await fill('300ms', 'left')
  await read('left')
  for (const rung of [RUNG, '300ms']) {
    const of = { group: 'deliverer.rungs', topic: rungTopic(rung) }
    await until(async () => (await lag(sluice.connection, of)) === 0, { message: `${rung} is committed` })
  }
}, 360_000)

describe.each([DELIVERIES, DUE])('in topic %s', (topic) => {
  test('an unreadable record is parked unchanged with the reason, and later records are delivered', async () => {
    const user = `u.${topic}`
    const whole = aRecord(user, 'cut')
    const values = [Buffer.from('not Avro'), UNKNOWN_SCHEMA, whole.subarray(0, whole.length - 3), null]
    for (const value of values) await put(topic, user, value)
    await put(topic, user, aRecord(user, `behind.${topic}`))
    await until(() => has('/', `behind.${topic}`))
    const kept = await until(async () => {
      const found = await parked(user)
      return found.length === values.length && found
    })
    const texts = (buffers: (Buffer | null)[]) => buffers.map((buffer) => buffer?.toString('hex') ?? '')
    expect(texts(kept.map(({ value }) => value)).toSorted()).toEqual(texts(values).toSorted())
    expect(new Set(kept.map(({ headers }) => headers['parked-topic']))).toEqual(new Set([topic]))
    const reasons = kept.map(({ headers }) => headers['parked-reason']?.split(':')[0])
    expect(reasons.toSorted()).toEqual(['undecodable', 'undecodable', 'undecodable', 'unknown_schema'])
  })
})

test('a retry that is in Kafka several times is posted once', async () => {
  const copies = () =>
    got(`http://127.0.0.1:${sluice.env.DELIVERER_PORT}/metrics`)
      .text()
      .then((text) => Number(/^sluice_deliverer_rounds_total\{next="copy"\} (.*)$/m.exec(text)?.[1]))
  const value = codec.encode(aDelivery({ deliveryId: 'copied', messageId: 'copied', attempt: 1 }))
  const [key, headers] = ['crm/copied', { dueAt: String(Date.now()) }]
  const due = { topic: DUE, key, value }
  const before = await copies()
  expect(await producer.produce([due, due, { topic: rungTopic(RUNG), key, value, headers }])).toBe('acked')
  await until(() => has('/', 'copied'))
  await until(async () => (await copies()) === before + 2)
  await until(async () => (await lag(sluice.connection, { group: 'deliverer.due', topic: DUE })) === 0)
  expect(receiver.arrivals.filter(({ headers: { 'x-message-id': id } }) => id === 'copied')).toHaveLength(1)
})

describe('on a rung', () => {
  const topic = rungTopic(LONG_RUNG)

  test.each([
    ['without a time', {}],
    ['with a time that is none', { dueAt: 'soon' }],
    ['with an empty time', { dueAt: '' }],
    ['with a time before all others', { dueAt: '-1' }],
    ['with an endless time', { dueAt: 'Infinity' }],
    ['with a time after all that is kept', { dueAt: '9'.repeat(20) }],
  ])('a delivery %s is due at once', async (name, headers) => {
    const id = name.replaceAll(' ', '-')
    await put(topic, id, aRecord(id, id), headers)
    await until(() => has('/', id))
  })

  test('a record without a value is parked, an unreadable one is parked when due, and later records are moved', async () => {
    const user = 'u.rung'
    await put(topic, user, null)
    await put(topic, user, Buffer.from('not Avro'))
    await put(topic, user, aRecord(user, 'behind.rung'))
    await until(() => has('/', 'behind.rung'))
    const kept = await until(async () => {
      const found = await parked(user)
      return found.length === 2 && found
    })
    const from = kept.map(({ headers }) => headers['parked-topic'])
    expect(from.toSorted()).toEqual([DUE, topic].toSorted())
  })
})

describe('a delivery that waits on a rung', () => {
  /** The only call fails at its first attempt. */
  async function waiting(id: string, paths: string[]): Promise<void> {
    await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key` })
    await sluice.destination(
      id,
      paths.map((path) => receiver.url + path),
      { sourceIds: [id] },
    )
    await sluice.send([track('u', id)], `${id}-write-key`)
    await until(() => arrivals(id).length === paths.length)
  }

  async function change(id: string, more: object): Promise<void> {
    const { body } = await sluice.api('get', `destinations/${id}`)
    const { id: _, version, updatedAt: __, ...before } = body
    const headers = { 'if-match': String(version) }
    const { status } = await sluice.api('put', `destinations/${id}`, { ...before, ...more }, headers)
    expect(status).toBe(200)
  }

  const arrivals = (id: string) =>
    receiver.arrivals.filter(({ headers }) => headers['x-message-id'] === id).map(({ path }) => path)

  test('is posted to a corrected URL and to an unchanged one, but not to a removed one', async () => {
    await waiting('corrected', ['/status/500', '/status/501', '/status/502'])
    // slow: an answer ends the attempt for the other webhooks
    const webhooks = ['/status/500', '/slow/300'].map((path) => ({ url: receiver.url + path }))
    await change('corrected', { webhooks })
    await until(() => has('/slow/300', 'corrected'))
    expect(arrivals('corrected').slice(3).toSorted()).toEqual(['/slow/300', '/status/500'])
  })

  test('is held while its destination is paused, and posted after it is resumed', async () => {
    await waiting('held', ['/status/503'])
    await change('held', { paused: true, webhooks: [{ url: `${receiver.url}/held` }] })
    type Shown = { destinationId: string; state: string; attempts: object[] }
    const shown = async () => {
      const { items } = (await sluice.api('get', 'events?messageId=held')).body as {
        items: { destinations: Shown[] }[]
      }
      return items[0]?.destinations.find(({ destinationId }) => destinationId === 'held')
    }
    await until(async () => (await shown())?.state === 'held')
    expect((await shown())?.attempts.at(-1)).toMatchObject({ code: 'destination_paused', urlIndex: null })
    expect(arrivals('held')).toEqual(['/status/503'])
    await change('held', { paused: false })
    await until(() => has('/held', 'held'))
    await until(async () => (await shown())?.state === 'delivered')
  })

  test('is cancelled if its destination was disabled, with the reason in the attempt log', async () => {
    await waiting('off', ['/status/503'])
    await change('off', { enabled: false })
    const log = await until(async () => {
      const attempts = await readAttempts(sluice, 'off')
      return attempts.length === 2 && attempts.toSorted((a, b) => a.attempt - b.attempt)
    })
    expect(log).toMatchObject([
      { attempt: 1, outcome: 'retry', code: 'http_5xx', status: 503, urlIndex: 0 },
      { attempt: 2, outcome: 'cancelled', code: 'destination_disabled', status: null, urlIndex: null },
    ])
    expect(arrivals('off')).toHaveLength(1)
  })
})

// last: it deletes a topic
test('a retry that is restored after its topic was recreated is posted again', async () => {
  const value = codec.encode(aDelivery({ deliveryId: 'restored', messageId: 'restored', attempt: 1 }))
  const arrivals = () =>
    receiver.arrivals.filter(({ headers: { 'x-message-id': id } }) => id === 'restored').length
  await put(DUE, 'restored', value)
  await until(() => arrivals() === 1)
  await until(async () => (await lag(sluice.connection, { group: 'deliverer.due', topic: DUE })) === 0)
  const topic = sluice.connection.named(DUE)
  await withAdmin(sluice.connection, async (admin) => {
    const [found] = (await admin.fetchTopicMetadata({ topics: [topic] })).topics
    await admin.deleteTopics({ topics: [topic] })
    const numPartitions = found?.partitions.length ?? 1
    await until(async () => {
      // it returns false if the topic exists: an earlier try may have created it and then failed
      await admin.createTopics({ topics: [{ topic, numPartitions }] })
      return true
    })
  })
  await put(DUE, 'restored', value)
  await until(() => arrivals() === 2, { timeout: 60_000 })
})
