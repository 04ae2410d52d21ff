import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../config.ts'
import { taskRecord } from '../../../control/tasks/task-table.ts'
import { deliveryId } from '../../../delivery/routing/routing.ts'
import { type Admin, groupsOf, readAll, withAdmin } from '../../../harness/kafka/topics.ts'
import { packMetadata } from '../../../kafka/consume/commits.ts'
import { packAhead } from '../../../kafka/consume/tracker.ts'
import { createProducer, type Producer } from '../../../kafka/produce/produce.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { openCodec, openRegistry } from '../../../schemas/registry.ts'
import { DEAD } from '../../../schemas/topics.ts'
import { aDeadOne } from '../../control/dead-in-memory.ts'
import { aReplay } from '../../control/tasks-in-memory.ts'
import { type Arrival, type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { until } from '../../helpers/until.ts'
import { sluice } from './system.ts'

let receiver: Receiver
let producer: Producer
let codec: Codec<Delivery>
beforeAll(async () => {
  receiver = await startReceiver()
  for (const id of ['replayed', 'replayed-too'])
    await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key` })
  await sluice.destination('replayed', [`${receiver.url}/crm`], { sourceIds: ['replayed', 'replayed-too'] })
  producer = await createProducer(sluice.connection)
  const registry = openRegistry(readConfig(sluice.env, 'control').registry)
  codec = await openCodec(registry, 'delivery', `${sluice.connection.named(DEAD)}-value`)
})
afterAll(async () => {
  await producer?.close()
  await receiver?.close()
})

const send = (...calls: object[]) => sluice.send(calls, 'replayed-write-key')
const track = (messageId: string, userId = 'u1') => ({ type: 'track', userId, event: 'Paid', messageId })
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, each) => `${prefix}-${each}`)

async function replay(body: object): Promise<string> {
  const answer = await sluice.api('post', 'replays', body)
  expect(answer).toMatchObject({ status: 202, body: { state: 'running' } })
  return String(answer.body.id)
}

async function ended(id: string): Promise<Record<string, unknown>> {
  return until(async () => {
    const { body } = await sluice.api('get', `replays/${id}`)
    return body.state !== 'running' && body
  })
}

async function offsets() {
  const admin = sluice.connection.kafka.admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(sluice.connection.named(DEAD))
  await admin.disconnect()
  return ends.toSorted((one, other) => one.partition - other.partition)
}

/** What a replay has committed, by partition. */
async function commitsOf(admin: Admin, replayId: string): Promise<Map<number, number>> {
  const { named: inFull } = sluice.connection
  const group = { groupId: inFull(`replay.${replayId}`), topics: [inFull(DEAD)] }
  const [topic] = await admin.fetchOffsets(group)
  return new Map(topic?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
}

/** The ids of the dead letters that a replay has committed. */
async function committedBy(replayId: string): Promise<Set<string>> {
  const to = await withAdmin(sluice.connection, (admin) => commitsOf(admin, replayId))
  const records = await readAll(sluice.connection, DEAD)
  const committed = records.filter(({ partition, offset }) => offset < (to.get(partition) ?? 0))
  const decoded = await Promise.all(committed.map(({ value }) => codec.decode(value)))
  return new Set(decoded.flatMap((each) => (each.ok ? each.value.messageId : [])))
}

/** Records settled beyond the offset are in the metadata. */
async function commit(group: string, { offset, ahead }: { offset: number; ahead: string }): Promise<void> {
  const { kafka, named: inFull } = sluice.connection
  const consumer = kafka.consumer({ groupId: inFull(group) })
  const joined = new Promise<void>((resolve) => consumer.on('consumer.group_join', () => resolve()))
  await consumer.connect()
  await consumer.subscribe({ topics: [inFull(DEAD)] })
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => undefined })
  await joined
  await consumer.commitOffsets([
    { topic: inFull(DEAD), partition: 0, offset: String(offset), metadata: ahead },
  ])
  await consumer.disconnect()
}

const idOf = ({ headers }: Arrival) => String(headers['x-message-id'])
const idFor = (messageId: string) => deliveryId('replayed', { sourceId: 'replayed', messageId })
const replayed = (prefix: string) =>
  receiver.arrivals.filter(
    (arrival) => arrival.headers['x-replay'] === 'true' && idOf(arrival).startsWith(prefix),
  )

/** The webhook itself answers: it is not in trouble when the replay starts. */
function deadRecords(ids: readonly string[], fields: Partial<Delivery> = {}) {
  return ids.map((id) => {
    const userId = `user-of-${id}`
    const deadOne = aDeadOne({
      deliveryId: deliveryId('replayed', { sourceId: 'replayed', messageId: id }),
      messageId: id,
      sourceId: 'replayed',
      destinationId: 'replayed',
      type: 'track',
      body: JSON.stringify({ type: 'track', userId }),
      attempt: 4,
      deadReason: 'attempts_exhausted',
      deadAt: Date.now(),
      ...fields,
    })
    return { topic: DEAD, key: `replayed/${userId}`, value: codec.encode(deadOne) }
  })
}

const dead = async (ids: readonly string[]) => expect(await producer.produce(deadRecords(ids))).toBe('acked')

test('dead letters are sent again unchanged, from the first attempt on, marked as replayed', async () => {
  const from = new Date().toISOString()
  const ids = named('dead', 20)
  await dead(ids)
  const id = await replay({ destinationId: 'replayed', what: 'dead', from })
  expect(await ended(id)).toMatchObject({ state: 'done', total: 20, read: 20, replayed: 20 })
  await until(() => replayed('dead').length >= 20)
  expect(replayed('dead').map(idOf).toSorted()).toEqual(ids.toSorted())
  for (const { headers } of replayed('dead')) {
    expect(headers['x-attempt']).toBe('1')
    const messageId = String(headers['x-message-id'])
    expect(headers['x-delivery-id']).toBe(deliveryId('replayed', { sourceId: 'replayed', messageId }))
  }
})

test('selects by time and reason, and leaves out suppressed users', async () => {
  const since = new Date().toISOString()
  await dead(['some-1', 'some-2'])
  await sluice.api('post', 'suppressions', { sourceId: 'replayed', userId: 'user-of-some-2' })
  const none = await replay({ destinationId: 'replayed', from: since, reason: 'refused' })
  expect(await ended(none)).toMatchObject({ state: 'done', total: 2, read: 2, replayed: 0 })
  const some = await replay({ destinationId: 'replayed', from: since, reason: 'attempts_exhausted' })
  expect(await ended(some)).toMatchObject({ state: 'done', total: 2, read: 2, replayed: 1 })
  await until(() => replayed('some').length > 0)
  expect(replayed('some').map(idOf)).toEqual(['some-1'])
})

test('past events are sent to a new destination if they match it', async () => {
  const since = new Date().toISOString()
  await send(track('early-1'), { ...track('early-2'), integrations: { Webhooks: false } })
  await sluice.send([track('early-3')], 'replayed-too-write-key')
  await send({ type: 'identify', userId: 'u1', messageId: 'early-4' })
  // events routed later would go to it as well
  const isRouted = (id: string) =>
    receiver.arrivals.some((arrival) => arrival.path === '/crm' && idOf(arrival) === id)
  await until(() => ['early-1', 'early-3', 'early-4'].every(isRouted))
  const late = { sourceIds: ['replayed'], eventTypes: ['track'] }
  await sluice.destination('replayed-late', [`${receiver.url}/late`], late)
  const id = await replay({ destinationId: 'replayed-late', what: 'events', from: since })
  expect(await ended(id)).toMatchObject({ state: 'done', total: 4, read: 4, replayed: 1 })
  const sent = () => receiver.arrivals.filter(({ path }) => path === '/late')
  await until(() => sent().length > 0)
  expect(sent().map(idOf)).toEqual(['early-1'])
  expect(sent()[0]?.headers['x-replay']).toBe('true')
})

test('a killed replay continues where it stopped, and fresh calls do not wait for it', async () => {
  const ids = named('many', 800)
  const before = await offsets()
  const since = new Date().toISOString()
  await dead(ids)
  const id = await replay({ destinationId: 'replayed', from: since, perSecond: 100 })
  await until(() => replayed('many').length > 50)
  await send(track('fresh'))
  await withAdmin(sluice.connection, (admin) =>
    until(async () => {
      const commits = await commitsOf(admin, id)
      return before.some(({ partition, high }) => (commits.get(partition) ?? 0) > Number(high))
    }),
  )
  // so the replay cannot end first, however slow the rest is
  sluice.freeze('control')
  await until(() => receiver.arrivals.some((arrival) => idOf(arrival) === 'fresh' && arrival.status === 200))
  expect(replayed('many').length).toBeLessThan(ids.length)
  const committed = await committedBy(id)
  expect(committed.isDisjointFrom(new Set(ids))).toBe(false)
  await sluice.crash('control')
  await sluice.start('control')
  expect(await ended(id)).toMatchObject({ state: 'done', total: ids.length })
  await until(() => new Set(replayed('many').map(idOf)).size === ids.length)
  // only what was in flight, or not committed, may arrive twice
  const times = Map.groupBy(replayed('many').map(idOf), (each) => each)
  expect(ids.filter((each) => committed.has(each) && times.get(each)?.length !== 1)).toEqual([])
})

test('a cancelled replay ends, and cannot be cancelled twice', async () => {
  const since = new Date().toISOString()
  await dead(named('slow', 50))
  const id = await replay({ destinationId: 'replayed', from: since, perSecond: 1 })
  await until(() => replayed('slow').length > 0)
  expect(await sluice.api('delete', `replays/${id}`)).toMatchObject({
    status: 200,
    body: { state: 'cancelled' },
  })
  expect(await sluice.api('delete', `replays/${id}`)).toMatchObject({
    status: 409,
    body: { code: 'replay_ended' },
  })
  await until(async () => (await groupsOf(sluice.connection, 'replay.')).length === 0)
  expect(replayed('slow').length).toBeLessThan(50)
  // another replay skips what this one has sent
  const rest = await replay({ destinationId: 'replayed', from: since, skipReplayed: true })
  expect(await ended(rest)).toMatchObject({ state: 'done' })
  await until(() => new Set(replayed('slow').map(idOf)).size === 50)
  expect(replayed('slow')).toHaveLength(50)
})

test('only the chosen dead letters are sent again', async () => {
  const ids = named('chosen', 30)
  await dead(ids)
  const wanted = ['chosen-3', 'chosen-17', 'chosen-29']
  // in different partitions, which are read in no order
  for (const each of wanted)
    await until(async () => {
      const { body } = await sluice.api('get', `dead?deliveryId=${idFor(each)}`)
      return (body.items as unknown[]).length === 1
    })
  const id = await replay({ destinationId: 'replayed', deliveryIds: wanted.map(idFor) })
  expect(await ended(id)).toMatchObject({ state: 'done', selected: 3, replayed: 3 })
  await until(() => replayed('chosen').length >= 3)
  expect(replayed('chosen').map(idOf).toSorted()).toEqual(wanted.toSorted())
})

test('a dead letter chosen by its id is sent and counts as replayed', async () => {
  await dead(named('letter', 2))
  const found = () => sluice.api('get', `dead?deliveryId=${idFor('letter-1')}`)
  const [letter] = await until(async () => {
    const items = (await found()).body.items as { id: string }[]
    return items.length === 1 && items
  })
  const id = await replay({ destinationId: 'replayed', entries: [letter?.id] })
  expect(await ended(id)).toMatchObject({ state: 'done', selected: 1, total: 1, replayed: 1 })
  expect((await found()).body.items).toMatchObject([{ replayed: { id } }])
  await until(() => replayed('letter').length > 0)
  expect(replayed('letter').map(idOf)).toEqual(['letter-1'])
})

test('unreadable records are parked and counted, even at the end of a partition, and block nothing', async () => {
  const since = new Date().toISOString()
  await dead(['good-1', 'good-2'])
  const [large] = deadRecords(['large'], { body: JSON.stringify({ text: 'x'.repeat(1_010_000) }) })
  const last = Array.from({ length: 4 }, (_, partition) => ({
    partition,
    key: 'replayed/u',
    value: 'no delivery',
  }))
  const writer = sluice.connection.kafka.producer()
  await writer.connect()
  const topic = sluice.connection.named(DEAD)
  await writer.send({ topic, messages: [{ key: 'replayed/u', value: large?.value ?? null }, ...last] })
  await writer.disconnect()
  const id = await replay({ destinationId: 'replayed', from: since })
  expect(await ended(id)).toMatchObject({ state: 'done', total: 7, read: 2, replayed: 2, parked: 5 })
})

test('a replay killed with settled but uncommitted records still ends', async () => {
  await sluice.stop('control')
  const begins = (await offsets()).map(({ offset }) => Number(offset))
  const ids = named('ahead', 6)
  const records = deadRecords(ids).map((record) => ({ ...record, partition: 0 }))
  expect(await producer.produce(records)).toBe('acked')
  const from = begins[0] ?? 0
  const ranges = [{ partition: 0, from, to: from + 6 }]
  const createdAt = new Date().toISOString()
  const task = aReplay({
    id: 'ahead',
    destinationId: 'replayed',
    createdAt,
    from: '2026-01-01T00:00:00.000Z',
    to: '2100-01-01T00:00:00.000Z',
    ranges,
  })
  await commit('replay.ahead', {
    offset: from,
    ahead: packMetadata({
      ahead: packAhead(
        from,
        [1, 2, 3, 4, 5].map((each) => from + each),
      ),
    }),
  })
  expect(await producer.produce([taskRecord(task)])).toBe('acked')
  await sluice.start('control')
  expect(await ended('ahead')).toMatchObject({ state: 'done', read: 1, replayed: 1 })
})

test('a replay to a disabled destination is cancelled with the reason', async () => {
  const since = new Date().toISOString()
  await dead(named('off', 30))
  const id = await replay({ destinationId: 'replayed', from: since, perSecond: 1 })
  const { body: crm } = await sluice.api('get', 'destinations/replayed')
  const off = await sluice.api(
    'put',
    'destinations/replayed',
    { ...crm, enabled: false },
    { 'if-match': String(crm.version) },
  )
  expect(off.status).toBe(200)
  expect(await ended(id)).toMatchObject({ state: 'cancelled', cause: { code: 'destination_disabled' } })
})
