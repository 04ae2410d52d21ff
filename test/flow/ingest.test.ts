import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'
import { ownBroker } from '../helpers/broker.ts'
import { readDecoded } from '../helpers/decoded.ts'
import { until } from '../helpers/until.ts'
import {
  type IngestProcess,
  prepareSystem,
  putSources,
  type System,
  startIngest,
} from '../ingest/ingest-process.ts'

let system: System
let ingest: IngestProcess

beforeAll(async () => {
  const sources = [{ id: 'shop', writeKey: 'shop-write-key', enabled: true }]
  system = await prepareSystem({
    brokers: inject('kafkaBrokers'),
    registryUrl: inject('registryUrl'),
    sources,
  })
  ingest = await startIngest(system)
})

afterAll(async () => void (await ingest?.stop()))

const post = (path: string, body: unknown, url = ingest.url) =>
  fetch(url + path, { method: 'POST', body: JSON.stringify(body) })

const read = (topic: string) => readDecoded(system.connection, topic)

describe('a call answered with success', () => {
  test('is in topic events when the answer arrives', async () => {
    const answer = await post('/v1/track', {
      writeKey: 'shop-write-key',
      userId: 'u1',
      messageId: 'm-1',
      event: 'Bought',
      properties: { b: 1, a: 2 },
    })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ success: true })
    const found = (await read(EVENTS)).filter(({ headers }) => headers.messageId === 'm-1')
    expect(found).toMatchObject([
      {
        key: 'shop/u1',
        value: {
          messageId: 'm-1',
          sourceId: 'shop',
          type: 'track',
          userId: 'u1',
          event: 'Bought',
          properties: '{"b":1,"a":2}',
        },
      },
    ])
  })

  test('is in the partition of its user, in order', async () => {
    const batch = Array.from({ length: 200 }, (_, index) => ({
      type: 'track',
      userId: `user-${index % 3}`,
      event: 'n',
      properties: { index },
    }))
    expect((await post('/v1/batch', { writeKey: 'shop-write-key', batch })).status).toBe(200)
    const mine = (await read(EVENTS)).filter(({ key }) => key === 'shop/user-1')
    expect(new Set(mine.map(({ partition }) => partition)).size).toBe(1)
    const numbers = mine.map(({ value }) => JSON.parse(String(value.properties)).index)
    expect(numbers).toEqual(batch.map((_, index) => index).filter((index) => index % 3 === 1))
  })
})

test('rejected calls are in events.rejected', async () => {
  const body = {
    writeKey: 'shop-write-key',
    batch: [
      { type: 'identify', userId: 'kept' },
      { type: 'track', userId: 'u2' },
    ],
  }
  const answer = await post('/v1/batch', body)
  expect(await answer.json()).toMatchObject({
    success: true,
    rejected: [{ index: 1, code: 'event_not_defined' }],
  })
  expect((await post('/v1/group', { writeKey: 'shop-write-key', userId: 'u2' })).status).toBe(400)
  // the answer waits for them for at most a second
  const rejected = await until(async () => {
    const found = await read(REJECTED)
    return found.length >= 2 && found
  })
  expect(rejected.map(({ key, value }) => [key, value.code, value.raw])).toEqual([
    ['shop', 'event_not_defined', '{"type":"track","userId":"u2"}'],
    ['shop', 'group_id_required', '{"writeKey":"shop-write-key","userId":"u2"}'],
  ])
  expect((await read(EVENTS)).map(({ key }) => key)).toContain('shop/kept')
})

test('ingest follows when control disables or enables a source', async () => {
  const call = { writeKey: 'late-write-key', userId: 'u' }
  expect((await post('/v1/identify', call)).status).toBe(401)
  await putSources(system, [{ id: 'late', writeKey: 'late-write-key', enabled: true }])
  await until(async () => (await post('/v1/identify', call)).status === 200, {
    message: 'a new source is known',
  })
  await putSources(system, [{ id: 'late', writeKey: 'late-write-key', enabled: false }])
  await until(async () => (await post('/v1/identify', call)).status === 403, {
    message: 'its switch is seen',
  })
})

describe('the process', () => {
  test('answers the probes, and serves its metrics on a separate port', async () => {
    expect((await fetch(`${ingest.url}/livez`)).status).toBe(200)
    expect((await fetch(`${ingest.url}/readyz`)).status).toBe(200)
    expect((await fetch(`${ingest.url}/metrics`)).status).toBe(404)
    const metrics = await (await fetch(`${ingest.opsUrl}/metrics`)).text()
    expect(metrics).toMatch(/sluice_ingest_calls_accepted_total\{source="shop",type="track"\} [1-9]/)
    expect(metrics).toMatch(/sluice_kafka_ack_seconds_count [1-9]/)
    expect((await fetch(`${ingest.opsUrl}/readyz`)).status).toBe(200)
  })

  test('on SIGTERM stores and answers requests in flight, and exits with 0', async () => {
    const own = await startIngest(system)
    const sending = Array.from({ length: 50 }, (_, index) =>
      post(
        '/v1/identify',
        { writeKey: 'shop-write-key', userId: 'last', messageId: `last-${index}` },
        own.url,
      ),
    )
    await Promise.race(sending) // the others are under way
    const [exit, ...answers] = await Promise.all([
      // a shutdown may take 15 s
      own.stop(20_000),
      ...sending.map((answer) =>
        answer.then(
          ({ status }) => status,
          () => 'not taken',
        ),
      ),
    ])
    expect(exit).toEqual({ code: 0, signal: null })
    const stored = new Set((await read(EVENTS)).map(({ headers }) => headers.messageId))
    answers.forEach((status, index) => {
      if (status === 200) expect(stored).toContain(`last-${index}`)
      else expect(status).toBe('not taken')
    })
    expect(answers).toContain(200)
  })

  test('answers 503 and is not ready while Kafka is down, and recovers afterwards', async () => {
    const broker = await ownBroker()
    const sources = [{ id: 'shop', writeKey: 'shop-write-key', enabled: true }]
    const away = await prepareSystem({
      brokers: broker.now.brokers,
      registryUrl: inject('registryUrl'),
      sources,
    })
    const own = await startIngest(away)
    onTestFinished(async () => void (await own.kill()))
    const call = { writeKey: 'shop-write-key', userId: 'u' }
    expect((await post('/v1/identify', call, own.url)).status).toBe(200)
    await broker.now.kill()
    const answer = await post('/v1/identify', call, own.url)
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'unavailable' })
    expect(answer.headers.get('retry-after')).toBe('2')
    expect((await fetch(`${own.url}/readyz`)).status).toBe(503)
    await broker.restart('kill')
    const taken = async () => (await post('/v1/identify', call, own.url)).status === 200
    await until(taken, { message: 'calls are taken again' })
    await until(async () => (await fetch(`${own.url}/readyz`)).ok, { message: 'ready again' })
  })
})
