import { once } from 'node:events'
import { get } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { deliveryId } from '../../delivery/routing/routing.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import { eventRecord } from '../../schemas/event-record.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { ATTEMPTS, DEAD, EVENTS } from '../../schemas/topics.ts'
import { anAttempt } from '../control/attempts-in-memory.ts'
import { aDeadOne } from '../control/dead-in-memory.ts'
import { anEvent } from '../helpers/events.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

type Fate = {
  destinationId: string
  deliveryId: string
  routed: boolean
  reason: string | null
  state: string | null
  attempts: { attempt: number; outcome: string; status: number | null }[]
  nextAttemptAt: string | null
  dead: { reason: string } | null
}
type Item = {
  messageId: string | null
  sourceId: string
  userId: string | null
  receivedAt: string
  call: Record<string, unknown>
  rejected: { code: string } | null
  destinations: Fate[]
}
type Answer = { items: Item[]; next: string | null; searchedSince: string | null; faults: unknown[] }

let sluice: System
let receiver: Receiver
let producer: Producer
let codec: Codec<Event>
let deliveries: Codec<Delivery>
let attempts: Codec<Attempt>

beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem({ RETRY_LADDER: '100ms,1h' })
  await sluice.api('post', 'sources', { id: 'app', name: 'App', writeKey: 'app-write-key' })
  await sluice.destination('crm', [`${receiver.url}/ok`])
  await sluice.destination('shaky', [`${receiver.url}/status/503`])
  await sluice.destination('off', [`${receiver.url}/off`], { enabled: false })
  await sluice.destination('pages', [`${receiver.url}/pages`], { eventTypes: ['page'] })
  await sluice.destination('elsewhere', [`${receiver.url}/elsewhere`], { sourceIds: ['app'] })
  producer = await createProducer(sluice.connection)
  const registry = openRegistry(readConfig(sluice.env, 'control').registry)
  codec = await openCodec(registry, 'event', `${sluice.connection.named(EVENTS)}-value`)
  attempts = await openCodec(registry, 'attempt', `${sluice.connection.named(ATTEMPTS)}-value`)
  deliveries = await openCodec(registry, 'delivery', `${sluice.connection.named(DEAD)}-value`)
})

afterAll(async () => {
  await producer?.close()
  await Promise.all([sluice?.close(), receiver?.close()])
})

async function events(query: string): Promise<Answer> {
  const { status, body } = await sluice.api('get', `events?${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body as Answer
}

/** Pages are searched for three seconds at most, and may be empty. */
async function all(query: string): Promise<Item[]> {
  const items: Item[] = []
  for (let next: string | null = ''; next !== null; ) {
    const answer: Answer = await events(`${query}${next && `&cursor=${next}`}`)
    items.push(...answer.items)
    next = answer.next
  }
  return items
}

const track = (messageId: string, more: object = {}) => ({
  type: 'track',
  userId: 'u1',
  event: 'Paid',
  messageId,
  ...more,
})

const fate = ({ destinations }: Item, id: string) =>
  destinations.find(({ destinationId }) => destinationId === id)

test('an empty topic gives no results and is searched completely', async () => {
  expect(await events('messageId=none')).toEqual({ items: [], next: null, searchedSince: null, faults: [] })
})

test('an event is found by its id, with its destinations, the reasons for exclusion, and the results', async () => {
  await sluice.send([track('first', { properties: { total: 1 } })])
  const item = await until(async () => {
    const [found] = (await events('messageId=first')).items
    return (
      found &&
      fate(found, 'crm')?.state === 'delivered' &&
      (fate(found, 'shaky')?.attempts.length ?? 0) === 2 &&
      found
    )
  })
  expect(item).toMatchObject({
    sourceId: 'shop',
    type: 'track',
    userId: 'u1',
    event: 'Paid',
    rejected: null,
    call: { messageId: 'first', properties: { total: 1 } },
  })
  expect(item.destinations.map(({ destinationId }) => destinationId).toSorted()).toEqual([
    'crm',
    'off',
    'pages',
    'shaky',
  ])
  expect(fate(item, 'crm')).toMatchObject({
    deliveryId: receiver.arrivals.find(({ path }) => path === '/ok')?.headers['x-delivery-id'],
    routed: true,
    reason: null,
    attempts: [{ attempt: 1, outcome: 'delivered', status: 200 }],
    nextAttemptAt: null,
    dead: null,
  })
  expect(fate(item, 'off')).toMatchObject({ routed: false, reason: 'disabled', state: null })
  expect(fate(item, 'pages')).toMatchObject({ routed: false, reason: 'type', state: null })
  const shaky = fate(item, 'shaky')
  expect(shaky).toMatchObject({ state: 'retrying', attempts: [{ attempt: 1 }, { attempt: 2, status: 503 }] })
  const inAnHour = Date.parse(shaky?.nextAttemptAt ?? '') - Date.now()
  expect(inAnHour).toBeGreaterThan(3_500_000)
  expect(inAnHour).toBeLessThanOrEqual(3_600_000)
})

test('a search for one destination also works for one that is not connected', async () => {
  const [item] = await all('messageId=first&destinationId=elsewhere')
  expect(item?.destinations).toMatchObject([{ destinationId: 'elsewhere', routed: false, reason: 'source' }])
})

test('shows what the call turned off, and rejected calls', async () => {
  await sluice.send([
    track('not-to-us', { integrations: { Webhooks: false } }),
    { type: 'track', userId: 'u1', messageId: 'nameless' },
  ])
  const [off] = await all('messageId=not-to-us')
  expect(off?.destinations.map(({ reason }) => reason)).toEqual(Array(4).fill('integrations'))
  // ingest waits at most a second for the record of a rejected call
  const rejected = await until(async () => {
    const found = await all('messageId=nameless')
    return found.length > 0 && found
  })
  expect(rejected).toMatchObject([
    {
      messageId: 'nameless',
      userId: 'u1',
      sourceId: 'shop',
      rejected: { code: 'event_not_defined' },
      call: { raw: expect.stringContaining('nameless') },
      destinations: [],
    },
  ])
})

test('finds a delivery by its id, from its attempts or by computing it', async () => {
  const id = (messageId: string, destination = 'crm') =>
    deliveryId(destination, { sourceId: 'shop', messageId })
  expect(await all(`deliveryId=${id('first')}`)).toMatchObject([{ messageId: 'first' }])
  expect(await all(`deliveryId=${id('not-to-us', 'pages')}`)).toMatchObject([{ messageId: 'not-to-us' }])
  expect(await all(`deliveryId=${id('first', 'nowhere')}`)).toEqual([])
})

test('finds accepted and rejected calls of a user, for all sources or one, newest first, in pages', async () => {
  await sluice.send([track('by-app')], 'app-write-key')
  await sluice.send([track('anon', { userId: undefined, anonymousId: 'a1' })])
  const found = await until(async () => {
    const items = await all('userId=u1&limit=2')
    return items.length === 4 && items
  })
  expect(found[0]?.messageId).toBe('by-app')
  expect(new Set(found.slice(1, 3).map(({ messageId }) => messageId))).toEqual(
    new Set(['nameless', 'not-to-us']),
  )
  expect(found[3]?.messageId).toBe('first')
  expect((await all('userId=u1&sourceId=app')).map(({ messageId }) => messageId)).toEqual(['by-app'])
  expect((await all('anonymousId=a1')).map(({ messageId }) => messageId)).toEqual(['anon'])
  expect((await all('')).map(({ messageId }) => messageId)[0]).toBe('anon')
})

test('shows that a delivery is dead', async () => {
  await sluice.send([track('gone', { integrations: { All: false } })])
  const deadOne = aDeadOne({
    deliveryId: deliveryId('crm', { sourceId: 'shop', messageId: 'gone' }),
    messageId: 'gone',
    sourceId: 'shop',
    destinationId: 'crm',
  })
  const record = { topic: DEAD, key: 'crm/u1', value: deliveries.encode(deadOne) }
  expect(await producer.produce([record])).toBe('acked')
  const crm = await until(async () => {
    const [item] = await all('messageId=gone&destinationId=crm')
    return item?.destinations[0]?.state && item.destinations[0]
  })
  expect(crm).toMatchObject({ state: 'dead', dead: { reason: 'attempts_exhausted' }, routed: false })
})

test('finds each of many events of any age once; a request reads a bounded part, and the next continues', async () => {
  const day = 86_400_000
  const many = 12_000
  // at once, with times over two days
  for (let from = 0; from < many; from += 500)
    await producer.produce(
      Array.from({ length: 500 }, (_, index) => {
        const each = from + index
        const event = anEvent({
          messageId: `old-${each}`,
          sourceId: 'old',
          userId: each % 1_000 === 0 ? 'rare' : `many-${each % 7}`,
          receivedAt: Date.now() - 2 * day + each,
        })
        return eventRecord(event, codec.encode)
      }),
    )
  const rare = await until(async () => {
    const items = await all('userId=rare&limit=5')
    return items.length === 12 && items
  })
  expect(rare.map(({ messageId }) => messageId)).toEqual(
    Array.from({ length: 12 }, (_, index) => `old-${(11 - index) * 1_000}`),
  )
  expect(await all('userId=rare&sourceId=old&limit=100')).toEqual(rare)
  const some = await until(async () => {
    const page = await events('userId=many-3&limit=100')
    return page.items.length === 100 && page
  })
  expect(some.next).not.toBeNull()
})

test('four searches run at once, further ones are told to retry', async () => {
  const headers = { authorization: `Bearer ${sluice.env.CONTROL_TOKEN}` }
  function ask() {
    const asking = get(`${sluice.control}/api/events?messageId=first`, { headers, agent: false })
    const answered = once(asking, 'response').then(async ([answer]) => {
      return { status: Number(answer.statusCode), body: await json(answer) }
    })
    return { sent: once(asking, 'finish'), answered }
  }
  // the frozen control gets all of them at once
  const goOn = sluice.freeze('control')
  const asked = Array.from({ length: 12 }, ask)
  await Promise.all(asked.map(({ sent }) => sent)).finally(goOn)
  const answers = await Promise.all(asked.map(({ answered }) => answered))
  for (const { status, body } of answers)
    if (status !== 200) expect([status, body]).toMatchObject([429, { code: 'too_many_searches' }])
    else if ((body as Answer).next === null) expect(body).toMatchObject({ items: [{ messageId: 'first' }] })
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
})

test('knows results whose attempts are no longer held', async () => {
  const before = await all('messageId=first')
  const states = async () => {
    const { body } = await sluice.api('get', 'deliveries?messageId=first')
    const items = body.items as { destinationId: string; state: string; lastStatus: number }[]
    return items.map((each) => `${each.destinationId} ${each.state} ${each.lastStatus}`).toSorted()
  }
  expect(await states()).toEqual(['crm delivered 200', 'shaky retrying 503'])
  const later = Array.from({ length: 11_000 }, (_, each) =>
    anAttempt({
      deliveryId: `filler-${each}`,
      messageId: `filler-${each}`,
      destinationId: 'filler',
      startedAt: Date.now(),
    }),
  )
  for (let from = 0; from < later.length; from += 500)
    await producer.produce(
      later.slice(from, from + 500).map((each) => ({
        topic: ATTEMPTS,
        key: each.destinationId,
        value: attempts.encode(each),
      })),
    )
  await until(async () => {
    const { body } = await sluice.api('get', 'attempts?messageId=filler-10999')
    return (body.items as unknown[]).length === 1
  })
  expect((await sluice.api('get', 'attempts?messageId=first')).body).toMatchObject({ items: [] })
  expect(await all('messageId=first')).toEqual(before)
  expect(await states()).toEqual(['crm delivered 200', 'shaky retrying 503'])
})

test('a restart finds the same', async () => {
  const before = await all('messageId=first')
  await sluice.stop('control')
  await sluice.start('control')
  expect(await all('messageId=first')).toEqual(before)
})
