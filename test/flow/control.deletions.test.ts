import { afterAll, beforeAll, expect, test } from 'vitest'
import { EVENTS, TASKS } from '../../schemas/topics.ts'
import { rawTopic } from '../control/topic.ts'
import { readAll } from '../helpers/cluster.ts'
import { type Receiver, startReceiver, withoutRetries } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const MANY = 5_000

let sluice: System
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem()
  for (const id of ['app', 'unconnected']) await sluice.api('post', 'sources', { id, name: id })
  await sluice.destination('crm', [`${receiver.url}/crm`])
  await sluice.destination('mail', [`${receiver.url}/mail`], { sourceIds: ['shop', 'app'] })
  await sluice.destination('off', [`${receiver.url}/off`], { sourceIds: ['unconnected'], enabled: false })
})
afterAll(async () => {
  await sluice?.close()
  await receiver?.close()
})

async function request(body: object): Promise<Record<string, unknown>> {
  const { status, body: deletion } = await sluice.api('post', 'deletions', body)
  expect(status).toBe(202)
  return deletion
}

const done = (id: unknown, timeout = 60_000) =>
  until(async () => (await sluice.api('get', `deletions/${id}`)).body.state === 'done', { timeout })

/** As `path userId`, for users whose ids begin like this. */
function deletes(prefix: string): string[] {
  return withoutRetries(receiver.arrivals)
    .map(({ path, body }) => ({ path, ...(JSON.parse(body) as { type: string; userId: string }) }))
    .filter(({ type, userId }) => type === 'delete' && userId.startsWith(prefix))
    .map(({ path, userId }) => `${path} ${userId}`)
}

test('each destination is notified once per user and connected source', async () => {
  const { id, ...deletion } = await request({ userIds: ['one-a', 'one-b'] })
  expect(deletion).toMatchObject({ users: 2, deletes: 4, sourceIds: ['shop', 'app'] })
  await done(id)
  await until(() => deletes('one-').length >= 6)
  expect(deletes('one-').toSorted()).toEqual(
    ['a', 'b'].flatMap((user) => [`/crm one-${user}`, `/mail one-${user}`, `/mail one-${user}`]).toSorted(),
  )
  const body = JSON.parse(receiver.arrivals.find((each) => each.body.includes('one-a'))?.body ?? '')
  expect(body).toEqual({ type: 'delete', userId: 'one-a', timestamp: deletion.createdAt })
})

test('a deletion with suppression drops later calls of its users', async () => {
  const { id } = await request({ userIds: ['gone'], sourceIds: ['shop'], suppress: true })
  await done(id)
  const items = (await sluice.api('get', 'suppressions')).body.items
  expect(items).toMatchObject([{ sourceId: 'shop', userId: 'gone' }])
  let sent = 0
  // after each call comes one of a user who stays
  const isDropped = async () => {
    sent += 1
    await sluice.send([
      { type: 'track', userId: 'gone', event: 'Seen', messageId: `gone-${sent}` },
      { type: 'track', userId: 'stays', event: 'Seen', messageId: `stays-${sent}` },
    ])
    const ids = (await readAll(sluice.connection, EVENTS)).map(({ headers }) => headers.messageId)
    expect(ids).toContain(`stays-${sent}`)
    return !ids.includes(`gone-${sent}`)
  }
  await until(isDropped)
})

test('five thousand users are each deleted once, although the process is killed in between', async () => {
  const userIds = Array.from({ length: MANY }, (_, user) => `many-${user}`)
  const { id } = await request({ userIds, suppress: true })
  await until(() => deletes('many-').length > 0)
  await sluice.crash('control')
  await sluice.start('control')
  await done(id, 120_000)
  await until(() => new Set(deletes('many-')).size === MANY * 2, { timeout: 300_000 })
  await until(() => deletes('many-').length >= MANY * 3, { timeout: 300_000 })
  expect(deletes('many-')).toHaveLength(MANY * 3)
  const { items, next } = (await sluice.api('get', 'suppressions?limit=1000')).body
  expect([items, next]).toEqual([expect.objectContaining({ length: 1_000 }), expect.any(String)])
}, 720_000)

test('a finished deletion keeps no user ids', async () => {
  const { body } = await sluice.api('get', 'deletions')
  for (const { id } of body.items as { id: string }[]) await done(id)
  const last = [...(await rawTopic(sluice.connection, TASKS)).values()].map((value) => JSON.parse(value))
  expect(last).toMatchObject(Array(3).fill({ state: 'done', userIds: [] }))
})

test('users with long ids are suppressed and deleted, although Kafka does not take all at once', async () => {
  const userIds = Array.from({ length: 30 }, (_, user) => `long-${user}-${'x'.repeat(20_000)}`)
  const { id } = await request({ userIds, sourceIds: ['shop', 'app'], suppress: true })
  await done(id)
  await until(() => new Set(deletes('long-')).size === 60)
})
