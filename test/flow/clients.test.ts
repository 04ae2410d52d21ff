import got from 'got'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DELIVERIES, EVENTS } from '../../schemas/topics.ts'
import { buildGoLibrary, type ClientLibrary, nodeLibrary } from '../helpers/client-libraries.ts'
import { ended, readEach } from '../helpers/cluster.ts'
import { postedAgain, type Receiver, startReceiver, withoutRetries } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const MB = 1024 * 1024
/** A million takes two minutes: `CLIENT_CALLS=1000000 npx vitest run --project real test/flow/clients.test.ts`. */
const MANY = Number(process.env.CLIENT_CALLS ?? 20_000)
const FORWARDED = 4_000

let sluice: System
let receiver: Receiver
let go: Awaited<ReturnType<typeof buildGoLibrary>>
const libraries: Record<ClientLibrary['name'], () => ClientLibrary> = {
  node: () => nodeLibrary,
  go: () => go,
}

beforeAll(async () => {
  go = await buildGoLibrary()
  receiver = await startReceiver()
  sluice = await startSystem()
  for (const id of ['many-node', 'many-go']) {
    await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key` })
    // ingest refuses calls until it applies the source
    await sluice.send([{ type: 'track', userId: 'first', event: 'First' }], `${id}-write-key`)
  }
  await sluice.destination('crm', [`${receiver.url}/`])
})
afterAll(async () => {
  await sluice?.close()
  await Promise.all([receiver?.close(), go?.close()])
})

const endpoint = () => `${sluice.ingest}/v1/batch`

async function count(topic: string): Promise<number> {
  let records = 0
  await readEach(sluice.connection, topic, () => {
    records += 1
  })
  return records
}

/** `most`: how often the most frequent id occurs. */
function counted(ids: Iterable<string>): { ids: number; most: number } {
  const times = new Map<string, number>()
  for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1)
  return { ids: times.size, most: Math.max(0, ...new Set(times.values())) }
}

describe.each(['node', 'go'] as const)('the %s library', (name) => {
  test(`delivers ${MANY.toLocaleString('en-US')} calls from eight producers without loss, repeats only retries, and bounds its memory`, async () => {
    const library = libraries[name]()
    const calls = { endpoint: endpoint(), writeKey: `many-${name}-write-key`, count: MANY, maxQueue: 10_000 }
    let isSentAgain = false
    const onAgain = () => {
      isSentAgain = true
    }
    const { refused, lost, maxRss } = await library.produce({ ...calls, onAgain })
    expect([refused, lost]).toEqual([0, 0])
    expect(maxRss).toBeLessThan(256 * MB)
    const ids: string[] = []
    await readEach(sluice.connection, EVENTS, ({ key, headers }) => {
      if (key.startsWith(`many-${name}/user-`)) ids.push(headers.messageId ?? '')
    })
    const { ids: found, most } = counted(ids)
    expect(found).toBe(MANY)
    // a library sends again what is not answered in time
    expect(isSentAgain || most === 1).toBe(true)
  })

  test('loses no call of a new source, or of a source that is disabled for a while', async () => {
    const id = `fresh-${name}`
    await sluice.api('post', 'sources', { id, name, writeKey: `${id}-write-key` })
    const { promise: again, resolve: onAgain } = Promise.withResolvers<void>()
    const calls = {
      endpoint: endpoint(),
      writeKey: `${id}-write-key`,
      count: 1_000,
      maxQueue: 1_000,
      onAgain,
    }
    expect(await libraries[name]().produce({ ...calls, onAgain: () => undefined })).toMatchObject({ lost: 0 })
    await sluice.api('put', `sources/${id}`, { name, enabled: false }, { 'if-match': '"1"' })
    const track = () =>
      got.post(endpoint(), {
        json: { batch: [] },
        username: calls.writeKey,
        throwHttpErrors: false,
        retry: { limit: 0 },
      })
    await until(async () => (await track()).statusCode === 403)
    const producing = libraries[name]().produce(calls)
    await again
    await sluice.api('put', `sources/${id}`, { name, enabled: true }, { 'if-match': '"2"' })
    expect(await producing).toMatchObject({ refused: 0, lost: 0 })
  })

  test('delivers each call exactly once when ingest is killed and restarted', async () => {
    const before = await ended(sluice.connection, EVENTS)
    const routedBefore = await count(DELIVERIES)
    const library = libraries[name]()
    const { promise: secondHalf, resolve: goOn } = Promise.withResolvers<void>()
    const { promise: again, resolve: onAgain } = Promise.withResolvers<void>()
    const calls = { endpoint: endpoint(), writeKey: 'shop-write-key', count: FORWARDED, maxQueue: 1_000 }
    const producing = library.produce({ ...calls, secondHalf, onAgain })
    await until(async () => (await ended(sluice.connection, EVENTS)) > before + FORWARDED / 4, {
      timeout: 120_000,
    })
    await sluice.kill('ingest')
    goOn()
    await again
    await sluice.start('ingest')
    expect(await producing).toMatchObject({ refused: 0, lost: 0 })
    const arrived = () =>
      withoutRetries(receiver.arrivals).map(({ headers }) => String(headers['x-message-id']))
    const own = () => arrived().filter((id) => id.startsWith(`${name}-`))
    // some seconds on an idle machine
    await until(() => counted(own()).ids >= FORWARDED, { timeout: 300_000 })
    expect(postedAgain(receiver.arrivals)).toEqual([])
    expect(counted(own())).toEqual({ ids: FORWARDED, most: 1 })
    // an event routed twice would look like a delivery posted twice
    expect((await count(DELIVERIES)) - routedBefore).toBe(FORWARDED)
  }, 600_000)
})
