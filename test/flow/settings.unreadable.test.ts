import { randomBytes } from 'node:crypto'
import got from 'got'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { ROLES } from '../../settings/config-key.ts'
import { sealRecord } from '../../settings/seal.ts'
import { CONFIG } from '../../settings/settings.ts'
import { keysOf } from '../helpers/config-keys.ts'
import { aDestination } from '../helpers/events.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

let sluice: System
let receiver: Receiver
let producer: Producer

beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem()
  producer = await createProducer(sluice.connection)
  await sluice.destination('crm', [`${receiver.url}/crm`], { sharedSecret: 'secret-of-crm' })
  await sluice.destination('other', [`${receiver.url}/other`])
})

afterAll(async () => {
  await producer?.close()
  await Promise.all([sluice?.close(), receiver?.close()])
})

/** Writes a record as by hand, or with a key or version that processes do not have. */
async function write(key: string, value: string | object | null): Promise<void> {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  expect(await producer.produce([{ topic: CONFIG, key, value: text }])).toBe('acked')
}

const ours = () => keysOf(Buffer.from(sluice.env.CONFIG_KEY ?? '', 'base64'))
const sealedElsewhere = (key: string, record: object) => sealRecord(key, record, keysOf(randomBytes(32)))

/** How many unreadable settings each role reports. */
async function unreadable(kind: string): Promise<Record<string, number>> {
  const name = `sluice_unreadable_settings{kind="${kind}"} `
  const told = ROLES.map(async (role) => {
    const port = sluice.env[role === 'ingest' ? 'INGEST_METRICS_PORT' : `${role.toUpperCase()}_PORT`]
    const lines = (await got(`http://127.0.0.1:${port}/metrics`, { retry: { limit: 0 } }).text()).split('\n')
    return [role, Number(lines.find((line) => line.startsWith(name))?.slice(name.length))] as const
  })
  return Object.fromEntries(await Promise.all(told))
}

const all = (count: number) => ({ router: count, deliverer: count, control: count })
async function areUnreadable(kind: string, count: number): Promise<void> {
  let told: Record<string, number> = {}
  const isTold = async () => {
    told = await unreadable(kind)
    return Object.keys(all(count)).every((role) => told[role] === count)
  }
  await until(isTold, { message: () => `${count} of kind ${kind} cannot be read: ${JSON.stringify(told)}` })
}

const track = (writeKey: string) =>
  got.post(`${sluice.ingest}/v1/track`, {
    json: { userId: 'u1', event: 'Asked' },
    username: writeKey,
    throwHttpErrors: false,
    retry: { limit: 0 },
    responseType: 'json',
  })
const warned = async () => {
  const { body } = await sluice.api('get', 'status')
  return (body.problems as { setting: { kind: string; id: string; isKept: boolean } | null }[])
    .flatMap(({ setting }) => setting ?? [])
    .map(({ kind, id, isKept }) => `${kind}/${id} ${isKept}`)
    .toSorted()
}
const send = (userId: string) => sluice.send([{ type: 'identify', userId }])
const arrived = (path: string, userId: string) =>
  until(() => receiver.arrivals.some((one) => one.path === path && JSON.parse(one.body).userId === userId), {
    message: `${userId} has arrived at ${path}`,
  })
const body = (more: object) => ({ name: 'CRM', sourceIds: ['shop'], ...more })

describe('unreadable records written while all processes run', () => {
  test('stop no process: the previous settings stay in use', async () => {
    await write('destination/crm', '{"id":"crm","webhooks":')
    await write('source/shop', sealedElsewhere('source/shop', { id: 'shop', writeKey: 'another-write-key' }))
    await write('source/new', '[]')
    await write('widget/w1', '{"of":"a later version"}')
    await areUnreadable('destination', 1)
    await areUnreadable('source', 2)
    await until(async () => (await unreadable('source')).ingest === 2)
    await send('by-the-last-good-one')
    await Promise.all(['/crm', '/other'].map((path) => arrived(path, 'by-the-last-good-one')))
    const [toCrm] = receiver.arrivals.filter(({ path }) => path === '/crm')
    expect(toCrm?.headers).toHaveProperty('x-signature')
    expect(await warned()).toEqual(['destination/crm true', 'source/new false', 'source/shop true'])
    expect((await sluice.api('get', 'destinations/crm')).body).toMatchObject({ name: 'crm', version: 1 })
  })

  test('of a source make unknown write keys undecided: their calls must be sent again', async () => {
    const { statusCode, headers, body: told } = await track('whose-key-is-this')
    expect([statusCode, headers['retry-after']]).toEqual([503, '30'])
    expect(told).toMatchObject({ code: 'source_unreadable' })
  })

  test('are repaired by a write or a removal, without a restart', async () => {
    const webhooks = [{ url: `${receiver.url}/mended` }]
    const put = (path: string, json: object) => sluice.api('put', path, json, { 'if-match': '"1"' })
    expect(await put('destinations/crm', body({ webhooks }))).toMatchObject({
      status: 200,
      body: { version: 2 },
    })
    expect((await put('sources/shop', { name: 'Shop' })).status).toBe(200)
    expect((await sluice.api('get', 'sources/new')).body).toMatchObject({ code: 'setting_unreadable' })
    expect((await sluice.api('delete', 'sources/new')).status).toBe(204)
    await areUnreadable('destination', 0)
    await areUnreadable('source', 0)
    await until(async () => (await track('whose-key-is-this')).statusCode === 401)
    expect(await warned()).toEqual([])
    await send('after-the-mending')
    await arrived('/mended', 'after-the-mending')
  })
})

describe('unreadable records found at a start', () => {
  test('let all processes start, and only their own settings are missing', async () => {
    expect(await Promise.all(ROLES.map((role) => sluice.stop(role)))).toEqual([0, 0, 0, 0])
    const webhooks = [{ url: `${receiver.url}/sealed`, headers: {} }]
    const forged = aDestination({ id: 'forged', sourceIds: ['shop'], webhooks, sharedSecret: 'never-opened' })
    await write('destination/forged', sealedElsewhere('destination/forged', forged))
    const newer = { ...aDestination({ id: 'newer', sourceIds: ['shop'], webhooks }), of: 'a later version' }
    await write('destination/newer', sealRecord('destination/newer', newer, ours()))
    await write('destination/garbage', 'garbage')
    await write('source/gone', '{}')
    await write('audience/a1', '{}')
    await write('widget/w1', '{"of":"a later version"}')
    await Promise.all(ROLES.map((role) => sluice.start(role)))
    expect(await unreadable('destination')).toMatchObject(all(3))
    expect(await warned()).toEqual([
      'audience/a1 false',
      'destination/forged false',
      'destination/garbage false',
      'destination/newer false',
      'source/gone false',
    ])
    expect((await track('whose-key-is-this')).statusCode).toBe(503)
    await send('meanwhile')
    await arrived('/other', 'meanwhile')
  })

  test('delay no other deliveries, and signed deliveries wait for their destination', async () => {
    const rungs = async () => {
      const { body: told } = await sluice.api('get', 'events?userId=meanwhile')
      return JSON.stringify(told)
    }
    expect(await rungs()).toContain('meanwhile')
    const { status } = await sluice.api('post', 'destinations', {
      ...body({ id: 'newer', webhooks: [{ url: `${receiver.url}/newer` }] }),
    })
    expect(status).toBe(201)
    await arrived('/newer', 'meanwhile')
    expect(receiver.arrivals.filter(({ path }) => path === '/newer')).toHaveLength(1)
  })

  test.each([
    ['garbage', 1],
    ['forged', 0],
  ])(
    'events that a destination missed while it was unreadable are replayed when it is repaired: %s',
    async (id, left) => {
      const from = new Date(Date.now() - 600_000).toISOString()
      const webhooks = [{ url: `${receiver.url}/replayed-${id}` }]
      expect((await sluice.api('post', 'destinations', body({ id, webhooks }))).status).toBe(201)
      // the router may take a second
      await areUnreadable('destination', left)
      await send(`after-${id}`)
      await arrived(`/replayed-${id}`, `after-${id}`)
      expect(receiver.arrivals.filter(({ path }) => path === `/replayed-${id}`)).toHaveLength(1)
      const replay = { destinationId: id, what: 'events', from }
      expect((await sluice.api('post', 'replays', replay)).status).toBe(202)
      await arrived(`/replayed-${id}`, 'meanwhile')
    },
  )

  test('are all gone when each is saved again or deleted', async () => {
    for (const path of ['sources/gone', 'audiences/a1'])
      expect((await sluice.api('delete', path)).status).toBe(204)
    await areUnreadable('destination', 0)
    await areUnreadable('source', 0)
    expect(await warned()).toEqual([])
    expect(await Promise.all(ROLES.map((role) => sluice.stop(role)))).toEqual([0, 0, 0, 0])
  })
})
