import { Agent } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { LIBRARY } from '../../../clients/node/library.ts'
import { until } from '../../helpers/until.ts'
import { clientOf, gate, numbersOf, startService, track, warnings } from './service.ts'

describe('a batch', () => {
  test('is a POST with the write key as user name and the calls in order', async () => {
    const service = await startService()
    const { analytics, failures } = clientOf(service)
    analytics.identify({ userId: 'u1', traits: { plan: 'pro' } })
    analytics.track({ userId: 'u1', event: 'Signed Up' })
    analytics.page({ anonymousId: 'a1', name: 'Start' })
    analytics.screen({ userId: 'u1', name: 'Cart' })
    analytics.group({ userId: 'u1', groupId: 'g1' })
    analytics.alias({ userId: 'u1', previousId: 'a1' })
    await analytics.flush()
    expect(service.arrivals).toHaveLength(1)
    const [arrival] = service.arrivals
    expect(arrival).toMatchObject({
      method: 'POST',
      path: '/v1/batch',
      headers: {
        authorization: `Basic ${Buffer.from('shop-write-key:').toString('base64')}`,
        'content-type': 'application/json',
        'user-agent': `sluice-node/${LIBRARY.version}`,
      },
    })
    const { batch, ...rest } = JSON.parse(arrival?.text ?? '')
    expect(rest).toEqual({
      sentAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      context: { library: LIBRARY },
    })
    const types = ['identify', 'track', 'page', 'screen', 'group', 'alias']
    expect(batch.map(({ type }: { type: string }) => type)).toEqual(types)
    expect(failures).toEqual([])
  })

  test('has calls with ascending ids and the time of each call', async () => {
    const service = await startService()
    const { analytics } = clientOf(service)
    const before = new Date().toISOString()
    for (let number = 0; number < 100; number++) analytics.track(track(number))
    const after = new Date().toISOString()
    await analytics.flush()
    const ids = service.calls().map(({ messageId }) => String(messageId))
    expect(ids).toEqual([...new Set(ids)].sort())
    for (const { timestamp } of service.calls()) {
      expect(String(timestamp) >= before).toBe(true)
      expect(String(timestamp) <= after).toBe(true)
    }
  })

  test('is compressed above 1 KB only', async () => {
    const service = await startService()
    const { analytics } = clientOf(service)
    analytics.track(track(0))
    await analytics.flush()
    for (let number = 1; number < 100; number++) analytics.track(track(number))
    await analytics.flush()
    const encodings = service.arrivals.map(({ headers }) => headers['content-encoding'])
    expect(encodings).toEqual([undefined, 'gzip'])
    const [, second] = service.arrivals
    expect(Number(second?.headers['content-length'])).toBeLessThan((second?.text.length ?? 0) / 4)
    expect(numbersOf(service.calls())).toEqual(Array.from({ length: 100 }, (_, number) => number))
  })

  test('is not compressed without gzip', async () => {
    const service = await startService()
    const { analytics } = clientOf(service, { gzip: false })
    for (let number = 0; number < 100; number++) analytics.track(track(number))
    await analytics.flush()
    expect(service.arrivals[0]?.headers).not.toHaveProperty('content-encoding')
    expect(service.calls()).toHaveLength(100)
  })

  test('is sent again without gzip if that is refused as too large', async () => {
    const service = await startService(({ headers }) => ({
      status: headers['content-encoding'] === 'gzip' ? 413 : 200,
    }))
    const { analytics, failures } = clientOf(service)
    for (let number = 0; number < 100; number++) analytics.track(track(number))
    await analytics.flush()
    expect(failures).toEqual([])
    const [first, second, ...more] = service.arrivals
    expect(more).toEqual([])
    expect(second?.headers).not.toHaveProperty('content-encoding')
    expect(second?.batch).toEqual(first?.batch)
  })

  test('is refused if it is too large without gzip', async () => {
    const service = await startService(() => ({ status: 413 }))
    const { analytics, failures } = clientOf(service)
    for (const name of ['short', 'x'.repeat(2_000)]) {
      analytics.track({ userId: 'u1', event: name })
      await analytics.flush()
    }
    expect(failures).toMatchObject([{ error: { status: 413 } }, { error: { status: 413 } }])
    expect(service.arrivals).toHaveLength(3)
  })

  test('asks for a response that is not compressed', async () => {
    const service = await startService()
    const { analytics } = clientOf(service)
    analytics.track(track(0))
    await analytics.flush()
    expect(service.arrivals[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('has at most 500 KB, and the next one has the rest', async () => {
    const service = await startService()
    const { analytics } = clientOf(service)
    const text = 'x'.repeat(32_000)
    for (let number = 0; number < 20; number++) analytics.track({ ...track(number), context: { text } })
    await analytics.flush()
    expect(service.arrivals.map(({ batch }) => batch.length)).toEqual([15, 5])
    for (const { text } of service.arrivals) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(512_000)
    expect(numbersOf(service.calls())).toEqual(Array.from({ length: 20 }, (_, number) => number))
  })
})

test('with flushAt 1, each call is its own request', async () => {
  const service = await startService()
  const { analytics } = clientOf(service, { flushAt: 1 })
  for (let number = 0; number < 5; number++) analytics.track(track(number))
  await until(() => service.arrivals.length === 5)
  expect(numbersOf(service.calls())).toEqual([0, 1, 2, 3, 4])
})

test('a waiting call is sent after flushAfter', async () => {
  const service = await startService()
  const start = performance.now()
  const { analytics } = clientOf(service, { flushAfter: 200 })
  analytics.track(track(0))
  await until(() => service.arrivals.length === 1)
  expect(performance.now() - start).toBeGreaterThanOrEqual(199)
})

test('during a request no other is made, and the next one has all new calls', async () => {
  const { opened, open } = gate()
  const service = await startService(async () => {
    await opened
    return {}
  })
  const { analytics } = clientOf(service, { flushAt: 2 })
  for (const number of [0, 1]) analytics.track(track(number))
  await until(() => service.arrivals.length === 1)
  for (const number of [2, 3, 4, 5, 6]) {
    analytics.track(track(number))
    await new Promise(setImmediate)
  }
  expect(service.arrivals).toHaveLength(1)
  open()
  await analytics.flush()
  expect(service.arrivals.map(({ batch }) => numbersOf(batch))).toEqual([
    [0, 1],
    [2, 3, 4, 5, 6],
  ])
})

test('all requests use one connection', async () => {
  const service = await startService()
  const { analytics } = clientOf(service)
  for (let number = 0; number < 20; number++) {
    analytics.track(track(number))
    await analytics.flush()
  }
  expect(service.arrivals.map(({ connection }) => connection)).toEqual(Array(20).fill(1))
})

test('a response is read up to 1 MB, then cut off, and the batch is retried', async () => {
  warnings()
  const long = (bytes: number) => ({ body: JSON.stringify({ success: true, more: 'x'.repeat(bytes) }) })
  const service = await startService((_arrival, index) => [long(900_000), long(9_000_000)][index] ?? {})
  const { analytics, failures } = clientOf(service)
  for (let number = 0; number < 2; number++) {
    analytics.track(track(number))
    await analytics.flush()
  }
  expect(service.arrivals.map(({ connection }) => connection)).toEqual([1, 1, 2])
  expect(numbersOf(service.calls())).toEqual([0, 1, 1])
  expect(failures).toEqual([])
})

test('connections are made by the agent option, and close() leaves them open', async () => {
  const service = await startService()
  const { hostname, port } = new URL(service.endpoint)
  const http = new Agent({ keepAlive: true })
  // like a proxy's agent, it connects to another address
  http.createConnection = () => connect({ host: hostname, port: Number(port) })
  onTestFinished(() => http.destroy())
  const { analytics } = clientOf(
    { endpoint: 'http://nowhere.invalid/' },
    { agent: { http }, closeTimeout: 60_000 },
  )
  analytics.track(track(0))
  await analytics.close()
  expect(service.arrivals.map(({ headers }) => headers.host)).toEqual(['nowhere.invalid'])
  expect(Object.keys(http.freeSockets)).toHaveLength(1)
})

test('clients are independent', async () => {
  const service = await startService()
  const one = clientOf(service, { writeKey: 'one' }).analytics
  const two = clientOf(service, { writeKey: 'two' }).analytics
  one.track(track(1))
  two.track(track(2))
  await Promise.all([one.flush(), two.flush()])
  const sent = service.arrivals.map(({ headers, batch }) => [headers.authorization, ...numbersOf(batch)])
  expect(sent.sort()).toEqual([
    [`Basic ${btoa('one:')}`, 1],
    [`Basic ${btoa('two:')}`, 2],
  ])
})
