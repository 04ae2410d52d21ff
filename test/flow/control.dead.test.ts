import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DEAD } from '../../schemas/topics.ts'
import { aDeadOne } from '../control/dead-in-memory.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

type Shown = {
  deliveryId: string
  messageId: string
  reason: string
  deadAt: string
  body: string | null
  attempts: { attempt: number; startedAt: string; outcome: string; code: string | null }[]
}
type Count = { destinationId: string; reason: string; count: number }
type Answer = {
  counts: Count[]
  partial: boolean
  oldest: string | null
  items: Shown[]
  next: string | null
}

let sluice: System
let receiver: Receiver
let producer: Producer
let codec: Codec<Delivery>

beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem({ RETRY_LADDER: '50ms' })
  producer = await createProducer(sluice.connection)
  const registry = openRegistry(readConfig(sluice.env, 'control').registry)
  codec = await openCodec(registry, 'delivery', `${sluice.connection.named(DEAD)}-value`)
})

afterAll(async () => {
  await producer?.close()
  await Promise.all([sluice?.close(), receiver?.close()])
})

async function dead(query = ''): Promise<Answer> {
  const { status, body } = await sluice.api('get', `dead?${query}`)
  expect(status).toBe(200)
  return body as Answer
}

async function write(of: (Partial<Delivery> & { partition: number })[]): Promise<void> {
  const records = of.map(({ partition, ...fields }) => {
    const value = codec.encode(aDeadOne(fields))
    return { topic: DEAD, partition, key: 'paged/u', value }
  })
  expect(await producer.produce(records)).toBe('acked')
}

const time = (seconds: number) => Date.parse('2026-01-02T00:00:00.000Z') + seconds * 1_000
const countOf = (answer: Answer, destinationId: string) =>
  answer.counts.find((count) => count.destinationId === destinationId)?.count

test('no dead letters', async () => {
  expect(await dead()).toEqual({
    counts: [],
    matching: [],
    partial: false,
    oldest: null,
    items: [],
    next: null,
  })
})

test('a dead delivery is listed with its attempts and its body', async () => {
  await sluice.destination('down', [`${receiver.url}/status/500`], { sharedSecret: 'secret-of-it' })
  await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid', messageId: 'given-up' }])
  const answer = await until(async () => {
    const found = await dead('messageId=given-up')
    return found.items.length === 1 && found
  })
  expect(answer.counts).toEqual([{ destinationId: 'down', reason: 'attempts_exhausted', count: 1 }])
  expect(answer.items).toMatchObject([
    {
      deliveryId: receiver.arrivals[0]?.headers['x-delivery-id'],
      destinationId: 'down',
      reason: 'attempts_exhausted',
      body: receiver.arrivals[0]?.body,
      attempts: [
        { attempt: 1, urlIndex: 0, outcome: 'retry', status: 500, code: 'http_5xx' },
        { attempt: 2, urlIndex: 0, outcome: 'retry', status: 500, code: 'http_5xx' },
      ],
    },
  ])
  expect(Date.parse(answer.items[0]?.deadAt ?? '')).toBeGreaterThanOrEqual(
    Date.parse(answer.items[0]?.attempts[1]?.startedAt ?? ''),
  )
})

const ids = Array.from({ length: 230 }, (_, index) => `paged-${index}`)

test('pages contain each dead letter once with its own body, while more arrive', async () => {
  await write(
    ids.map((deliveryId, index) => ({
      deliveryId,
      destinationId: index % 3 ? 'paged' : 'other',
      body: deliveryId,
      deadAt: time(index),
      partition: index % 4,
    })),
  )
  await until(async () => countOf(await dead('limit=1'), 'paged') === 153)
  const seen: Shown[] = []
  let next: string | null = ''
  for (let page = 1; next !== null; page++) {
    const answer: Answer = await dead(`destinationId=paged&limit=40${next && `&cursor=${next}`}`)
    seen.push(...answer.items)
    next = answer.next
    await write([
      { deliveryId: `late-${page}`, destinationId: 'late', deadAt: time(500), partition: page % 4 },
    ])
    await until(async () => countOf(await dead('limit=1'), 'late') === page)
  }
  const wanted = ids.filter((_, index) => index % 3).toReversed()
  expect(seen.map(({ deliveryId }) => deliveryId)).toEqual(wanted)
  expect(seen.map(({ body }) => body)).toEqual(wanted)
})

test('concurrent page requests do not interfere', async () => {
  const pages = await Promise.all(
    [0, 1, 2, 3].map((page) => dead(`until=${new Date(time(50 * page + 1)).toISOString()}&limit=20`)),
  )
  for (const { items } of pages) for (const { deliveryId, body } of items) expect(body).toBe(deliveryId)
  expect(pages.map(({ items }) => items[0]?.deliveryId)).toEqual([0, 50, 100, 150].map((at) => `paged-${at}`))
})

test('a restart lists the same', async () => {
  const before = await dead('limit=100')
  await sluice.stop('control')
  await sluice.start('control')
  expect(await dead('limit=100')).toEqual(before)
})

async function remove(before: number, partitions: readonly number[]): Promise<void> {
  const topic = sluice.connection.named(DEAD)
  const admin = sluice.connection.kafka.admin()
  await admin.connect()
  await admin.fetchTopicOffsets(topic) // else kafkajs does not know the leaders
  await admin.deleteTopicRecords({
    topic,
    partitions: partitions.map((partition) => ({ partition, offset: String(before) })),
  })
  await admin.disconnect()
}

test('letters that Kafka has removed are no longer listed', async () => {
  const before = await dead('destinationId=paged')
  await remove(25, [0, 1, 2, 3])
  const after = await dead()
  expect(after.partial).toBe(false)
  expect(countOf(after, 'paged')).toBeLessThan(countOf(before, 'paged') ?? 0)
  const { items } = await dead('destinationId=paged&limit=100')
  expect(items.map(({ body }) => body)).toEqual(items.map(({ deliveryId }) => deliveryId))
  expect(items.length).toBeGreaterThan(0)
  expect(items).toHaveLength(countOf(after, 'paged') ?? -1)
})

test('the newest letters are held and the list is marked as partial, until Kafka has removed the older ones', async () => {
  const many = 25_000
  for (let from = 0; from < many; from += 500)
    await write(
      Array.from({ length: 500 }, (_, index) => ({
        deliveryId: `many-${from + index}`,
        destinationId: 'many',
        deadAt: time(1_000 + from + index),
        partition: 0,
      })),
    )
  await until(async () => countOf(await dead('limit=1'), 'many') === many)
  expect((await dead('limit=1')).partial).toBe(false)
  await sluice.stop('control')
  await sluice.start('control')
  const { partial, oldest, items } = await dead('destinationId=many&limit=1')
  expect([partial, oldest]).toEqual([true, new Date(time(1_000)).toISOString()])
  expect(items).toMatchObject([{ deliveryId: `many-${many - 1}`, body: '{"version":1,"type":"track"}' }])
  await remove(100, [0])
  expect((await dead('limit=1')).partial).toBe(false)
})
