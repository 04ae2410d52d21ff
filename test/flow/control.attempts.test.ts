import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Codec } from '../../schemas/codec.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { ATTEMPTS } from '../../schemas/topics.ts'
import { anAttempt } from '../control/attempts-in-memory.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

type Shown = Omit<Attempt, 'startedAt'> & { startedAt: string }
type Answer = { items: Shown[]; next: string | null; oldest: string | null }

let sluice: System
let receiver: Receiver
let producer: Producer
let codec: Codec<Attempt>

beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem()
  producer = await createProducer(sluice.connection)
  const registry = openRegistry(readConfig(sluice.env, 'control').registry)
  codec = await openCodec(registry, 'attempt', `${sluice.connection.named(ATTEMPTS)}-value`)
})

afterAll(async () => {
  await producer?.close()
  await Promise.all([sluice?.close(), receiver?.close()])
})

async function attempts(query: string): Promise<Answer> {
  const { status, body } = await sluice.api('get', `attempts?${query}`)
  expect(status).toBe(200)
  return body as Answer
}

async function write(destinationId: string, of: (Partial<Attempt> & { partition: number })[]): Promise<void> {
  const records = of.map(({ partition, ...fields }) => {
    const value = codec.encode(anAttempt({ destinationId, ...fields }))
    return { topic: ATTEMPTS, partition, key: destinationId, value }
  })
  expect(await producer.produce(records)).toBe('acked')
}

const time = (seconds: number) => Date.parse('2026-01-02T00:00:00.000Z') + seconds * 1_000

test('both attempts of a delivery that fails once are listed, the last one first', async () => {
  await sluice.destination('flaky', [`${receiver.url}/flaky/1`])
  await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid', messageId: 'once' }])
  const { items, oldest } = await until(async () => {
    const answer = await attempts('messageId=once')
    return answer.items.length === 2 && answer
  })
  expect(items).toMatchObject([
    { attempt: 2, outcome: 'delivered', status: 200, code: null, urlIndex: 0 },
    { attempt: 1, outcome: 'retry', status: 503, code: 'http_5xx', urlIndex: 0 },
  ])
  for (const { sourceId, destinationId, deliveryId, startedAt } of items) {
    expect({ sourceId, destinationId, deliveryId }).toEqual({
      sourceId: 'shop',
      destinationId: 'flaky',
      deliveryId: receiver.arrivals[0]?.headers['x-delivery-id'],
    })
    expect(Math.abs(Date.parse(startedAt) - Date.now())).toBeLessThan(60_000)
  }
  expect(oldest).toBe(items[1]?.startedAt)
  expect((await attempts('messageId=once&outcome=retry')).items).toEqual([items[1]])
})

test('pages contain each attempt once, while more arrive', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `paged-${index}`)
  await write(
    'paged',
    ids.map((deliveryId, index) => ({ deliveryId, startedAt: time(index), partition: index % 4 })),
  )
  await until(async () => (await attempts('destinationId=paged')).items.length === ids.length)
  const seen: string[] = []
  let next: string | null = ''
  for (let page = 1; next !== null; page++) {
    const answer = await attempts(`destinationId=paged&limit=7${next && `&cursor=${next}`}`)
    seen.push(...answer.items.map(({ deliveryId }) => deliveryId))
    next = answer.next
    const late = `late-${page}`
    await write('paged', [{ deliveryId: late, startedAt: time(100 + page), partition: page % 4 }])
    await until(async () => (await attempts(`deliveryId=${late}`)).items.length === 1)
  }
  expect(seen).toEqual(ids.toReversed())
})

test('a restart lists the same, and old cursors continue', async () => {
  const before = await attempts('destinationId=paged&limit=20')
  const rest = await attempts(`destinationId=paged&cursor=${before.next}`)
  await sluice.stop('control')
  await sluice.start('control')
  expect(await attempts('destinationId=paged&limit=20')).toEqual(before)
  expect(await attempts(`destinationId=paged&cursor=${before.next}`)).toEqual(rest)
})

test('invalid records are skipped and counted, and later ones are listed', async () => {
  const key = 'foreign'
  await producer.produce([{ topic: ATTEMPTS, partition: 0, key, value: 'not Avro' }])
  await write('foreign', [{ deliveryId: 'behind', partition: 0 }])
  await until(async () => (await attempts('deliveryId=behind')).items.length === 1)
  const metrics = await (await fetch(`${sluice.control}/metrics`)).text()
  expect(metrics).toContain('sluice_control_unreadable_total{topic="attempts",reason="undecodable"} 1\n')
  expect(metrics).toMatch(/sluice_control_held\{topic="attempts"\} \d\d/)
})

test('the newest attempts of all partitions are held, and the answer says how far back they go', async () => {
  const late = 10_000
  for (let from = 0; from < late; from += 500)
    await write(
      'many',
      Array.from({ length: 500 }, (_, index) => ({
        deliveryId: `many-${from + index}`,
        startedAt: time(1_000 + from + index),
        partition: index % 4,
        response: 'x'.repeat(100),
      })),
    )
  // the last one of each partition: these are read in no order
  for (const last of [1, 2, 3, 4])
    await until(async () => (await attempts(`deliveryId=many-${late - last}`)).items.length === 1)
  const { oldest } = await attempts('destinationId=paged')
  // other tests' attempts have other times
  expect(Date.parse(String(oldest))).toBeGreaterThanOrEqual(time(1_000))
  expect((await attempts('destinationId=paged')).items).toEqual([])
  await sluice.stop('control')
  await sluice.start('control')
  expect((await attempts('destinationId=paged')).oldest).toBe(oldest)
})

test('after a restart the figures of the last hour and day are the same, however many attempts there are', async () => {
  await sluice.destination('busy', [`${receiver.url}/busy`])
  const count = 12_000
  const startedAt = Date.now()
  for (let from = 0; from < count; from += 500)
    await write(
      'busy',
      Array.from({ length: 500 }, (_, index) => ({
        deliveryId: `busy-${from + index}`,
        startedAt: startedAt - (index % 5) * 60_000,
        acceptedAt: startedAt - (index % 5) * 60_000 - 100,
        settles: index % 2 === 0,
        durationMs: 50,
        partition: 1,
        response: null,
      })),
    )
  const figures = async (window: string): Promise<{ delivered: number } | undefined> => {
    const { status, body } = await sluice.api('get', `destinations/busy/activity?window=${window}`)
    return status === 200 && body.since === null ? (body.total as { delivered: number }) : undefined
  }
  const expected = {
    ...{ delivered: count / 2, rejected: 0, dead: 0, failedAttempts: 0 },
    ...{ latency: { p50: 150, p99: 150 }, responseTime: { p50: 50, p99: 50 } },
  }
  const complete = (window: string) =>
    until(async () => {
      const total = await figures(window)
      return total && total.delivered >= count / 2 ? total : undefined
    })
  expect([await complete('1h'), await complete('24h')]).toEqual([expected, expected])
  await sluice.stop('control')
  await sluice.start('control')
  // the newest 10,000 of the partition are read first
  expect([await complete('1h'), await complete('24h')]).toEqual([expected, expected])
})

test('configured headers that a receiver echoes are masked, for deliveries and tests', async () => {
  const webhooks = [{ url: `${receiver.url}/echo`, headers: { Authorization: 'Bearer t0p-secret' } }]
  await sluice.destination('echoing', [], { webhooks })
  await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid', messageId: 'echoed' }])
  const [delivered] = await until(async () => {
    const { items } = await attempts('messageId=echoed&destinationId=echoing')
    return items.length === 1 && items
  })
  const { body } = await sluice.api('post', 'destinations/echoing/test')
  const [tested] = body.results as Shown[]
  const echoed = receiver.arrivals.filter(({ path }) => path === '/echo')
  expect(echoed.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill('Bearer t0p-secret'))
  for (const response of [delivered?.response, tested?.response]) {
    expect(response).toContain('"authorization":"***"')
    expect(response).not.toContain('t0p-secret')
  }
})
