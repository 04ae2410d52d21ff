import { Agent } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Answer, clientOf, DEAD_ENDPOINT, numbersOf, startService, track, warnings } from './service.ts'

beforeEach(() => void warnings())

/** These in order, then success. */
const inTurn =
  (...answers: Answer[]) =>
  (_arrival: unknown, index: number): Answer =>
    answers[index] ?? {}

describe('a batch is retried until it succeeds, with the same calls and the time of each attempt, after', () => {
  test.each<[string, Answer]>([
    ['a 408', { status: 408 }],
    ['a 429', { status: 429 }],
    ['a 500', { status: 500, body: '{"code":"internal_error","message":"Something went wrong here."}' }],
    ['a 503', { status: 503, body: '<html>' }],
    ['a 599', { status: 599 }],
    ['an end of the connection', 'reset'],
    ['a 200 whose body breaks off', 'cut'],
    ['a 200 of somebody else', { body: '<html>Sign in to the network</html>' }],
    ['no answer in time', 'hang'],
  ])('%s', async (_what, answer) => {
    const service = await startService(inTurn(answer, answer))
    const { analytics, failures } = clientOf(service, { requestTimeout: answer === 'hang' ? 200 : 60_000 })
    analytics.track(track(0))
    analytics.track(track(1))
    await analytics.flush()
    // on a slow machine, more of them may time out
    if (answer === 'hang') expect(service.arrivals.length).toBeGreaterThanOrEqual(3)
    else expect(service.arrivals).toHaveLength(3)
    const bodies = service.arrivals.map(({ text }) => JSON.parse(text))
    expect(new Set(bodies.map(({ batch }) => JSON.stringify(batch))).size).toBe(1)
    const sentAt = bodies.map((body) => Date.parse(body.sentAt))
    for (const [index, { at }] of service.arrivals.entries()) {
      expect(sentAt[index]).toBeLessThanOrEqual(at)
      // on a busy machine, the service may read a request only after the next one is sent
      const before = answer === 'hang' ? (sentAt[index - 1] ?? 0) + 190 : service.arrivals[index - 1]?.at
      if (index > 0) expect(sentAt[index]).toBeGreaterThanOrEqual(before ?? 0)
    }
    expect(failures).toEqual([])
  })
})

test('calls made meanwhile wait behind it', async () => {
  const service = await startService(inTurn({ status: 503 }, { status: 503 }))
  const { analytics } = clientOf(service, { flushAt: 1 })
  for (const number of [0, 1, 2]) analytics.track(track(number))
  await analytics.flush()
  expect(numbersOf(service.calls())).toEqual([0, 0, 0, 1, 2])
})

describe('Retry-After is respected', () => {
  test.each([
    ['in seconds', () => '1', 1_000],
    // an HTTP date has whole seconds
    ['as a date', () => new Date(Date.now() + 2_000).toUTCString(), 1_000],
  ])('%s', async (_what, value, leastMs) => {
    const service = await startService((_arrival, index) =>
      index === 0 ? { status: 429, headers: { 'retry-after': value() } } : {},
    )
    const { analytics, failures } = clientOf(service)
    analytics.track(track(0))
    await analytics.flush()
    const [first, second] = service.arrivals
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(leastMs - 5)
    expect(failures).toEqual([])
  })
})

describe('a batch is not retried after', () => {
  test.each([201, 204, 301, 302, 307, 400, 401, 403, 404, 413, 415, 600])('a %d', async (status) => {
    const service = await startService(() => ({
      status,
      headers: { location: '/elsewhere', 'retry-after': '0' },
    }))
    const { analytics, failures } = clientOf(service)
    analytics.track(track(0))
    await analytics.flush()
    expect(service.arrivals).toHaveLength(1)
    expect(failures).toMatchObject([{ error: { code: 'rejected', status }, messages: [{ type: 'track' }] }])
  })

  test('a 101, which got leaves to the caller', async () => {
    const headers = { connection: 'upgrade', upgrade: 'websocket' }
    const service = await startService(() => ({ status: 101, headers }))
    const { analytics, failures } = clientOf(service)
    analytics.track(track(0))
    await analytics.flush()
    expect(failures).toMatchObject([{ error: { code: 'rejected', status: 101 } }])
    await expect.poll(() => service.open()).toBe(0)
  })
})

describe('a batch is given up after maxRetries', () => {
  test('with the last response as the cause, and the calls as they were sent', async () => {
    const body = '{"code":"unavailable","message":"Send it again."}'
    const service = await startService(() => ({ status: 503, body }))
    const { analytics, failures } = clientOf(service, { maxRetries: 2 })
    analytics.track(track(0))
    analytics.track(track(1))
    await analytics.flush()
    expect(service.arrivals).toHaveLength(3)
    const items = service.arrivals[0]?.batch ?? []
    expect(failures).toEqual([
      {
        error: expect.objectContaining({
          name: 'AnalyticsError',
          code: 'gave_up',
          tries: 3,
          status: 503,
          reason: 'unavailable',
          cause: expect.objectContaining({ code: 'rejected', status: 503 }),
        }),
        messages: items.map((item) => ({
          type: 'track',
          messageId: item.messageId,
          json: JSON.stringify(item),
        })),
      },
    ])
  })

  test('if a 200 does not come from the service', async () => {
    const service = await startService(() => ({ body: '<html>Sign in to the network</html>' }))
    const { analytics, failures } = clientOf(service, { maxRetries: 1 })
    analytics.track(track(0))
    await analytics.flush()
    expect(service.arrivals).toHaveLength(2)
    const message = expect.stringContaining('answered 200 without {"success": true}')
    expect(failures).toMatchObject([{ error: { code: 'gave_up', tries: 2, status: 200, message } }])
  })

  test.each([
    ['breaks off', 'cut', 60_000, /The last error: .*(abort|hang up|ECONNRESET)/],
    ['does not come in time', 'stall', 200, /^No success after 1 attempt\. The last error: Timeout/],
  ] as const)(
    'if the body of a 200 %s, which is not reported as another server',
    async (_how, answer, requestTimeout, message) => {
      const service = await startService(() => answer)
      const { analytics, failures } = clientOf(service, { maxRetries: 0, requestTimeout })
      analytics.track(track(0))
      await analytics.flush()
      expect(failures).toMatchObject([
        { error: { code: 'gave_up', message: expect.stringMatching(message) } },
      ])
      expect(failures[0]?.error).not.toHaveProperty('status')
    },
  )

  test('if nothing listens', async () => {
    const { analytics, failures } = clientOf({ endpoint: DEAD_ENDPOINT }, { maxRetries: 2 })
    analytics.track(track(0))
    await analytics.flush()
    expect(failures).toMatchObject([
      { error: { code: 'gave_up', tries: 3, cause: { code: 'ECONNREFUSED' } } },
    ])
  })

  test('if none of several addresses listens, with a reason for each', async () => {
    const { port } = new URL(DEAD_ENDPOINT)
    const addresses = ['127.0.0.2', '127.0.0.3'].map((address) => ({ address, family: 4 }))
    const http = new Agent({ lookup: (_name, _options, done) => done(null, addresses) })
    const { analytics, failures } = clientOf(
      { endpoint: `http://several.example:${port}/` },
      { maxRetries: 0, agent: { http } },
    )
    analytics.track(track(0))
    await analytics.flush()
    expect(failures[0]?.error.message).toContain(`127.0.0.2:${port}; connect ECONNREFUSED 127.0.0.3:${port}`)
  })

  const unreadable = () =>
    Object.defineProperty(new Error('no'), 'message', {
      get: () => {
        throw new Error('unreadable')
      },
    })
  test.each<[string, () => unknown, string]>([
    ['null', () => null, 'cannot be read'],
    ['undefined', () => undefined, 'cannot be read'],
    ['a text', () => 'out of sockets', 'out of sockets'],
    ['an error whose text throws', unreadable, 'cannot be read'],
    [
      'an error whose text is a symbol',
      () => Object.assign(new Error(), { message: Symbol('no') }),
      'cannot be read',
    ],
  ])('if the agent throws or reports %s', async (_what, thrown, message) => {
    const throwing = new Agent()
    throwing.createConnection = () => {
      throw thrown()
    }
    const reporting = new Agent()
    reporting.createConnection = (_options, done) => void done?.(thrown() as Error, null as never)
    // Node takes no error for a success
    for (const http of thrown() ? [throwing, reporting] : [throwing]) {
      const { analytics, failures } = clientOf(
        { endpoint: DEAD_ENDPOINT },
        { maxRetries: 1, agent: { http } },
      )
      analytics.track(track(0))
      await analytics.flush()
      const expected = { code: 'gave_up', tries: 2, message: expect.stringContaining(message) }
      expect(failures).toMatchObject([{ error: expected }])
    }
  })

  test('if the host is unknown, without a retry if maxRetries is 0', async () => {
    const { analytics, failures } = clientOf({ endpoint: 'http://nowhere.invalid/' }, { maxRetries: 0 })
    analytics.track(track(0))
    await analytics.flush()
    expect(failures).toMatchObject([{ error: { code: 'gave_up', tries: 1, cause: expect.any(Error) } }])
  })

  test('and the next batch is sent', async () => {
    const service = await startService(({ batch }) => (numbersOf(batch)[0] === 0 ? { status: 500 } : {}))
    const { analytics, failures } = clientOf(service, { maxRetries: 1, flushAt: 1 })
    analytics.track(track(0))
    analytics.track(track(1))
    await analytics.flush()
    expect(numbersOf(service.calls())).toEqual([0, 0, 1])
    expect(failures).toHaveLength(1)
  })
})

test('no error contains the write key, however it is printed', async () => {
  const { inspect } = await import('node:util')
  const service = await startService(() => 'reset')
  const { analytics, failures } = clientOf(service, { maxRetries: 0 })
  analytics.track(track(0))
  await analytics.flush()
  const printed = inspect(failures, { depth: 20, showHidden: true })
  expect(printed).toContain('ECONNRESET')
  expect(printed).not.toMatch(/shop-write-key|authorization/i)
  expect(printed).not.toContain(btoa('shop-write-key:'))
})
