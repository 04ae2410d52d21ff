import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { createProducer, type Producer } from '../../kafka/produce.ts'
import { deliveryId } from '../../router/route.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DEAD } from '../../schemas/topics.ts'
import { aDeadOne } from '../control/dead-in-memory.ts'
import { type Arrival, type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

let sluice: System
let receiver: Receiver
let producer: Producer
let codec: Codec<Delivery>
beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem()
  await sluice.api('post', 'sources', { id: 'app', name: 'App', writeKey: 'app-write-key' })
  await sluice.destination('crm', [`${receiver.url}/crm`], { sourceIds: ['shop', 'app'] })
  producer = await createProducer(sluice.connection)
  const registry = openRegistry(readConfig(sluice.env, 'control').registry)
  codec = await openCodec(registry, 'delivery', `${sluice.connection.named(DEAD)}-value`)
})
afterAll(async () => {
  await producer?.close()
  await sluice?.close()
  await receiver?.close()
})

const track = (messageId: string, userId = 'u1') => ({ type: 'track', userId, event: 'Paid', messageId })
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, each) => `${prefix}-${each}`)

async function replay(body: object): Promise<string> {
  const answer = await sluice.api('post', 'replays', body)
  expect(answer).toMatchObject({ status: 202, body: { state: 'running' } })
  return String(answer.body.id)
}

async function ended(id: string, timeout = 20_000): Promise<Record<string, unknown>> {
  return until(
    async () => {
      const { body } = await sluice.api('get', `replays/${id}`)
      return body.state !== 'running' && body
    },
    { timeout },
  )
}

const idOf = ({ headers }: Arrival) => String(headers['x-message-id'])
const replayed = (prefix: string) =>
  receiver.arrivals.filter(
    (arrival) => arrival.headers['x-replay'] === 'true' && idOf(arrival).startsWith(prefix),
  )

/** As the deliverer writes what it gives up: an endpoint that answers is not in trouble when the replay comes. */
async function dead(ids: readonly string[]): Promise<void> {
  const records = ids.map((id) => {
    const userId = `user-of-${id}`
    const deadOne = aDeadOne({
      deliveryId: deliveryId('crm', { sourceId: 'shop', messageId: id }),
      messageId: id,
      sourceId: 'shop',
      destinationId: 'crm',
      type: 'track',
      body: JSON.stringify({ type: 'track', userId }),
      attempt: 4,
      deadReason: 'attempts_exhausted',
      deadAt: Date.now(),
    })
    return { topic: DEAD, key: `crm/${userId}`, value: codec.encode(deadOne) }
  })
  expect(await producer.produce(records)).toBe('acked')
}

test('dead letters are sent again as what they were, from the first attempt on, and say so', async () => {
  const ids = named('dead', 20)
  await dead(ids)
  const id = await replay({ destinationId: 'crm', what: 'dead' })
  expect(await ended(id)).toMatchObject({ state: 'done', total: 20, read: 20, replayed: 20 })
  await until(() => replayed('dead').length >= 20)
  expect(replayed('dead').map(idOf).toSorted()).toEqual(ids.toSorted())
  for (const { headers } of replayed('dead')) {
    expect(headers['x-attempt']).toBe('1')
    const messageId = String(headers['x-message-id'])
    expect(headers['x-delivery-id']).toBe(deliveryId('crm', { sourceId: 'shop', messageId }))
  }
})

test('only those of a time, of a reason, and of users who are not suppressed', async () => {
  const since = new Date().toISOString()
  await dead(['some-1', 'some-2'])
  await sluice.api('post', 'suppressions', { sourceId: 'shop', userId: 'user-of-some-2' })
  const none = await replay({ destinationId: 'crm', from: since, reason: 'refused' })
  expect(await ended(none)).toMatchObject({ state: 'done', total: 2, read: 2, replayed: 0 })
  const some = await replay({ destinationId: 'crm', from: since, reason: 'attempts_exhausted' })
  expect(await ended(some)).toMatchObject({ state: 'done', total: 2, read: 2, replayed: 1 })
  await until(() => replayed('some').length > 0)
  expect(replayed('some').map(idOf)).toEqual(['some-1'])
})

test('events of a time are sent to a destination that was not there, if they are for it', async () => {
  const since = new Date().toISOString()
  await sluice.send([track('early-1'), { ...track('early-2'), integrations: { Webhooks: false } }])
  await sluice.send([track('early-3')], 'app-write-key')
  await sluice.send([{ type: 'identify', userId: 'u1', messageId: 'early-4' }])
  await sluice.destination('late', [`${receiver.url}/late`], { eventTypes: ['track'] })
  const id = await replay({ destinationId: 'late', what: 'events', from: since })
  expect(await ended(id)).toMatchObject({ state: 'done', total: 4, read: 4, replayed: 1 })
  const late = () => receiver.arrivals.filter(({ path }) => path === '/late')
  await until(() => late().length > 0)
  expect(late().map(idOf)).toEqual(['early-1'])
  expect(late()[0]?.headers['x-replay']).toBe('true')
})

test('killed in the middle it goes on from there; fresh calls do not wait for it', async () => {
  const ids = named('many', 300)
  const since = new Date().toISOString()
  await dead(ids)
  const id = await replay({ destinationId: 'crm', from: since, perSecond: 100 })
  await until(() => replayed('many').length > 50)
  await sluice.send([track('fresh')])
  await until(() => receiver.arrivals.some((arrival) => idOf(arrival) === 'fresh' && arrival.status === 200))
  expect(replayed('many').length).toBeLessThan(300)
  await sluice.crash('control')
  await sluice.start('control')
  expect(await ended(id, 40_000)).toMatchObject({ state: 'done', total: 300 })
  await until(() => new Set(replayed('many').map(idOf)).size === 300)
  // at most what was under way, or done since the last commit, comes twice
  expect(replayed('many').length).toBeLessThan(400)
})

test('one that is cancelled ends, and is not cancelled twice', async () => {
  const since = new Date().toISOString()
  await dead(named('slow', 50))
  const id = await replay({ destinationId: 'crm', from: since, perSecond: 1 })
  await until(() => replayed('slow').length > 0)
  expect(await sluice.api('delete', `replays/${id}`)).toMatchObject({
    status: 200,
    body: { state: 'cancelled' },
  })
  expect(await sluice.api('delete', `replays/${id}`)).toMatchObject({
    status: 409,
    body: { code: 'replay_ended' },
  })
  const groups = async () => {
    const admin = sluice.connection.kafka.admin()
    await admin.connect()
    const { groups: all } = await admin.listGroups()
    await admin.disconnect()
    return all
      .map(({ groupId }) => groupId)
      .filter((each) => each.startsWith(sluice.connection.named('replay.')))
  }
  await until(async () => (await groups()).length === 0)
  expect(replayed('slow').length).toBeLessThan(50)
})

test('those that are chosen are sent again, and no others', async () => {
  const ids = named('chosen', 30)
  await dead(ids)
  const idFor = (messageId: string) => deliveryId('crm', { sourceId: 'shop', messageId })
  const last = idFor('chosen-29')
  await until(async () => {
    const { body } = await sluice.api('get', `dead?deliveryId=${last}`)
    return (body.items as unknown[]).length === 1
  })
  const wanted = ['chosen-3', 'chosen-17', 'chosen-29']
  const id = await replay({ destinationId: 'crm', deliveryIds: wanted.map(idFor) })
  expect(await ended(id)).toMatchObject({ state: 'done', selected: 3, replayed: 3 })
  await until(() => replayed('chosen').length >= 3)
  expect(replayed('chosen').map(idOf).toSorted()).toEqual(wanted.toSorted())
})
