import got from 'got'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { listen } from '../helpers/sse.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

type Figures = { delivered: number; retry: number; dead: number; deferred: number; p50: number | null }
type Health = {
  minutes: { at: string; delivered: number; retry: number; dead: number; deferred: number }[]
  now: Figures
  endpoints: {
    urlIndex: number
    breaker: string
    since: string | null
    lastError: { code: string; status: number } | null
    lastDeliveredAt: string | null
  }[]
}
type Overview = { items: (Figures & { destinationId: string; breaker: string })[] }

const VIEW = 'test-view-token-0123456789'

let sluice: System
let receiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '100ms', NOTICE_DELAY: '1s' })
  await sluice.destination('good', [`${receiver.url.replace('127.0.0.1', 'localhost')}/ok`])
  await sluice.destination('bad', [`${receiver.url}/switch`])
})

afterAll(async () => {
  await Promise.all([sluice?.close(), receiver?.close()])
})

const health = async (id: string) =>
  (await sluice.api('get', `destinations/${id}/health`)).body as unknown as Health
const overview = async () => (await sluice.api('get', 'health')).body as unknown as Overview

/** A minute may end within a test. */
const sum = ({ minutes }: Health, what: 'delivered' | 'retry' | 'dead' | 'deferred') =>
  minutes.reduce((total, minute) => total + minute[what], 0)

let sent = 0
const send = (count: number) =>
  sluice.send(
    Array.from({ length: count }, () => ({
      type: 'track',
      userId: `u${sent}`,
      event: 'Paid',
      messageId: `m${sent++}`,
    })),
  )

test('a destination without deliveries has no counts and an unknown state', async () => {
  const found = await health('good')
  expect(found.minutes).toHaveLength(60)
  expect(sum(found, 'delivered')).toBe(0)
  expect(found.endpoints).toMatchObject([{ urlIndex: 0, breaker: 'unknown', lastError: null }])
})

test('deliveries, retries and dead letters are counted live, and an open breaker shows with the last error', async () => {
  receiver.answerWith(503)
  const stream = await listen(`${sluice.control}/api/health/stream`, VIEW)
  await until(() => stream.of('health').length > 0 && stream.of('ingest').length > 0)
  const began = performance.now()
  await send(10)
  const [good, bad] = await until(async () => {
    const found = [await health('good'), await health('bad')] as const
    const isOpen = /open$/.test(found[1].endpoints[0]?.breaker ?? '')
    return sum(found[0], 'delivered') === 10 && isOpen && found
  })
  expect(good.endpoints).toMatchObject([
    { breaker: 'closed', lastError: null, lastDeliveredAt: expect.any(String) },
  ])
  // accurate to an eighth
  expect(good.now.p50).toBeLessThan((performance.now() - began) * 1.125 + 1)
  expect(sum(bad, 'retry')).toBeGreaterThanOrEqual(5)
  expect(bad.endpoints).toMatchObject([
    {
      breaker: expect.stringMatching(/^(open|half-open)$/),
      since: expect.any(String),
      lastError: { code: 'http_5xx', status: 503 },
      lastDeliveredAt: null,
    },
  ])
  const items = await until(async () => {
    const found = (await overview()).items
    return found.some(({ destinationId, delivered }) => destinationId === 'good' && delivered > 0) && found
  })
  expect(items.map(({ destinationId, breaker }) => [destinationId, breaker === 'closed'])).toEqual([
    ['good', true],
    ['bad', false],
  ])
  // one is enough: the figures are gone after a minute, or ten seconds
  const told = () => stream.of('health') as unknown as Overview[]
  const isGood = (item: Overview['items'][number]) => item.destinationId === 'good' && item.delivered === 10
  await until(() => told().some((each) => each.items.some(isGood)))
  await until(() => stream.of('ingest').some(({ perSecond }) => Number(perSecond) > 0))
})

test('accepted calls are counted per minute', async () => {
  const { body } = await sluice.api('get', 'ingest')
  const minutes = body.minutes as { calls: number; rejected: number }[]
  expect(minutes).toHaveLength(60)
  await sluice.send([{ type: 'track', userId: 'u1' }])
  await until(async () => {
    const { body } = await sluice.api('get', 'ingest')
    const all = body.minutes as typeof minutes
    const total = (of: 'calls' | 'rejected') => all.reduce((count, minute) => count + minute[of], 0)
    return total('calls') === 10 && total('rejected') === 1
  })
})

test('when the webhook answers again its breaker closes, and the last error stays visible', async () => {
  receiver.answerWith(200)
  const bad = await until(async () => {
    const found = await health('bad')
    return found.endpoints[0]?.breaker === 'closed' && sum(found, 'delivered') > 0 && found
  })
  expect(bad.endpoints[0]).toMatchObject({ lastError: { status: 503 }, lastDeliveredAt: expect.any(String) })
})

test('dead deliveries are counted', async () => {
  const before = sum(await health('bad'), 'dead')
  receiver.answerWith(500)
  await send(1)
  await until(async () => sum(await health('bad'), 'dead') > before)
})

test('a restart keeps the counts of the log and of the hour before', async () => {
  const before = await until(async () => {
    const found = await health('good')
    return sum(found, 'delivered') === sent && found
  })
  await sluice.stop('control')
  await sluice.start('control')
  const after = await until(async () => {
    const found = await health('good')
    return sum(found, 'delivered') === sent && found
  })
  expect(after.endpoints).toEqual(before.endpoints)
  // events and attempts are read side by side
  await until(async () => {
    const { body } = await sluice.api('get', 'ingest')
    const minutes = body.minutes as { calls: number }[]
    return minutes.reduce((count, { calls }) => count + calls, 0) === sent
  })
})

test('notices report that a webhook fails, and that it works again, even after a restart', async () => {
  await sluice.api('post', 'sources', { id: 'ops', name: 'Ops', kind: 'notices', writeKey: 'ops-write-key' })
  await sluice.destination('pager', [`${receiver.url}/notices`], { sourceIds: ['ops'] })
  const notices = () => {
    const arrived = receiver.arrivals.filter(({ path }) => path === '/notices')
    // if the answer is late, the notice is sent again
    const distinct = new Map(arrived.map(({ headers, body }) => [headers['x-message-id'], JSON.parse(body)]))
    // on a slow machine, there may be notices about other webhooks
    return [...distinct.values()].flatMap(({ event, properties: { destinationId, lastError } }) =>
      destinationId === 'bad' ? [[event, lastError.status]] : [],
    )
  }
  await until(() => notices().length > 0)
  expect(notices()).toEqual([['Webhook Failing', 500]])
  const call = { json: { type: 'track', userId: 'u1', event: 'Forged' }, username: 'ops-write-key' }
  const refused = await got.post(`${sluice.ingest}/v1/track`, { ...call, throwHttpErrors: false })
  expect([refused.statusCode, JSON.parse(refused.body).code]).toEqual([403, 'notices_only'])

  await sluice.stop('control')
  receiver.answerWith(200)
  await sluice.start('control')
  // a webhook is healthy again once its last failure is 30 s old
  await until(
    async () => {
      await send(1)
      return notices().length > 1
    },
    { timeout: 180_000 },
  )
  expect(notices()).toEqual([
    ['Webhook Failing', 500],
    ['Webhook Recovered', 500],
  ])
})

test('lag is streamed as it changes, until the process ends', async () => {
  const stream = await listen(`${sluice.control}/api/lag/stream`, VIEW)
  await until(() => stream.of('lag').length > 2)
  expect(stream.of('lag')[0]?.items).toEqual(
    expect.arrayContaining([expect.objectContaining({ group: 'router', topic: 'events' })]),
  )
  expect(await sluice.stop('control')).toBe(0)
  await until(stream.hasEnded)
})
