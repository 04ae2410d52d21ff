import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'
import { type Control, startControl } from '../control/process.ts'
import { removeSubjects, removeTopics } from '../control/topic.ts'
import { readAll } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'
import { type IngestProcess, prepareSystem, type System, startIngest } from '../ingest/ingest-process.ts'

let system: System
let control: Control
let ingest: IngestProcess

beforeAll(async () => {
  const kafkaBrokers = inject('kafkaBrokers')
  const registryUrl = inject('registryUrl')
  const sources = [{ id: 'shop', writeKey: 'shop-write-key', enabled: true }]
  system = await prepareSystem({ brokers: kafkaBrokers, registryUrl, sources })
  const key = Buffer.from(system.env.CONFIG_KEY ?? '', 'base64')
  control = startControl({
    kafkaBrokers,
    registryUrl,
    topicPrefix: system.config.kafka.topicPrefix,
    key,
  })
  ingest = await startIngest(system)
  await control.ready()
})

afterAll(async () => {
  await Promise.all([ingest?.stop(), control?.stop()])
  await removeTopics(system.connection)
  await removeSubjects(system.connection, inject('registryUrl'))
})

async function post(path: string, body: object, url = ingest.url) {
  const answer = await fetch(url + path, {
    method: 'POST',
    body: JSON.stringify({ writeKey: 'shop-write-key', ...body }),
  })
  const { status, headers } = answer
  return { status, retryAfter: headers.get('retry-after'), json: await answer.json() }
}

const identify = (userId: string, more: object = {}) => post('/v1/identify', { userId, ...more })
const batch = (...userIds: string[]) =>
  post('/v1/batch', { batch: userIds.map((userId) => ({ type: 'identify', userId })) })

/** Resolves when control answers. */
async function shop(settings: object): Promise<void> {
  const { json } = await control.ask('GET', '/api/sources/shop')
  const put = { body: { name: 'Shop', ...settings }, ifMatch: Number(json.version) }
  expect(await control.ask('PUT', '/api/sources/shop', put)).toMatchObject({ status: 200 })
}

/** Waits until ingest has followed. */
const soon = (message: string, condition: () => Promise<boolean>) => until(condition, { message })

/** Source and user in `events`, the source in `events.rejected`. */
const keysIn = async (topic: string) => (await readAll(system.connection, topic)).map(({ key }) => key)

describe('a rate limit', () => {
  test('takes effect when it is set; a client that waits as told passes; it ends when it is removed', async () => {
    expect((await batch(...Array(100).fill('early'))).status).toBe(200)
    // the batch's debt lasts longer than a slow machine takes for the next call
    await shop({ rateLimit: { perSecond: 1, burst: 1 } })
    onTestFinished(() => shop({}))
    await soon('the limit holds', async () => (await batch(...Array(10).fill('limited'))).status === 429)
    const refused = await identify('over-the-limit')
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
    expect(Number(refused.retryAfter)).toBeGreaterThanOrEqual(1)
    expect(Number(refused.retryAfter)).toBeLessThanOrEqual(10)
    await sleep(Number(refused.retryAfter) * 1_000)
    expect((await batch(...Array(1_000).fill('waited'))).status).toBe(200)
    // the batch has left a debt
    expect(Number((await identify('over-the-limit')).retryAfter)).toBeGreaterThan(100)
    await shop({})
    await soon('the limit is gone', async () => (await identify('freed')).status === 200)
    const events = await keysIn(EVENTS)
    expect(events).toContain('shop/waited')
    expect(events).not.toContain('shop/over-the-limit')
    expect(await keysIn(REJECTED)).toEqual([])
  })
})

describe('a suppression', () => {
  const suppressed = async (url = ingest.opsUrl) => {
    const metrics = await (await fetch(`${url}/metrics`)).text()
    const name = 'sluice_ingest_calls_suppressed_total{source="shop",type="identify"}'
    return Number(
      metrics
        .split('\n')
        .find((line) => line.startsWith(name))
        ?.slice(name.length) ?? 0,
    )
  }

  test.each(['shop', '*'])(
    'for source %s drops the calls of its user until it is removed',
    async (sourceId) => {
      const userId = `jane-of-${sourceId}`
      expect((await identify(userId)).status).toBe(200)
      const { status, json } = await control.ask('POST', '/api/suppressions', { body: { sourceId, userId } })
      expect(status).toBe(201)
      const before = await suppressed()
      await soon('the suppression holds', async () => {
        expect((await identify(userId)).status).toBe(200)
        return (await suppressed()) > before
      })
      const key = `shop/${userId}`
      const soFar = (await keysIn(EVENTS)).filter((each) => each === key).length
      expect(await batch('ann', userId, 'bob')).toMatchObject({ status: 200, json: { success: true } })
      expect(await post('/v1/track', { userId })).toMatchObject({ status: 200 })
      const events = await keysIn(EVENTS)
      expect(events.filter((each) => each === key)).toHaveLength(soFar)
      expect(events).toEqual(expect.arrayContaining(['shop/ann', 'shop/bob']))
      expect(await keysIn(REJECTED)).toEqual([])

      expect((await control.ask('DELETE', `/api/suppressions/${json.id}`)).status).toBe(204)
      // the metric may be a quarter of a second old, so this counts records
      const stored = async () => (await keysIn(EVENTS)).filter((each) => each === key).length
      await soon('it is removed', async () => {
        expect((await identify(userId)).status).toBe(200)
        return (await stored()) > soFar
      })
      expect(await stored()).toBe(soFar + 1)
    },
  )

  test('applies to the first call that a new process accepts', async () => {
    await control.ask('POST', '/api/suppressions', { body: { sourceId: '*', userId: 'gone' } })
    const fresh = await startIngest(system)
    onTestFinished(async () => void (await fresh.stop()))
    expect((await post('/v1/identify', { userId: 'gone' }, fresh.url)).status).toBe(200)
    expect(await suppressed(fresh.opsUrl)).toBe(1)
    expect(await keysIn(EVENTS)).not.toContain('shop/gone')
  })
})

test('a disabled source accepts no calls, also in batches, until it is enabled again', async () => {
  await shop({ enabled: false })
  await soon('its switch is seen', async () => (await identify('switching')).status === 403)
  for (const answer of [await identify('off'), await batch('off', 'off'), await post('/v1/track', {})])
    expect(answer).toMatchObject({ status: 403, json: { code: 'source_disabled' } })
  await shop({ enabled: true })
  await soon('it is on again', async () => (await identify('on-again')).status === 200)
  const events = await keysIn(EVENTS)
  expect(events).toContain('shop/on-again')
  expect(events).not.toContain('shop/off')
  expect(await keysIn(REJECTED)).toEqual([])
})

test('a replaced write key works until its overlap ends, by itself', async () => {
  const called = async (writeKey: string) => (await identify('rotating', { writeKey })).status
  onTestFinished(() => shop({ writeKey: 'shop-write-key' }))
  // control refuses a time in the past, and on a busy machine the request takes a while
  const ends = new Date(Date.now() + 8_000)
  await shop({ writeKey: 'new-write-key', previousWriteKeyExpiresAt: ends.toISOString() })
  await soon('the new key works', async () => (await called('new-write-key')) === 200)
  const before = await called('shop-write-key')
  // a slow machine may have reached the end
  if (Date.now() < ends.getTime()) expect(before).toBe(200)
  await soon('the previous key has ended', async () => (await called('shop-write-key')) === 401)
  expect(Date.now()).toBeGreaterThanOrEqual(ends.getTime())
  expect(await called('new-write-key')).toBe(200)
})
