import { describe, expect, test, vi } from 'vitest'
import { AnalyticsError } from '../../../clients/node/index.ts'
import { until } from '../../helpers/until.ts'
import { clientOf, DEAD_ENDPOINT, gate, startService, thrownBy, track, warnings } from './service.ts'

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('close()', () => {
  test('sends queued calls', async () => {
    const service = await startService()
    const { analytics } = clientOf(service, { closeTimeout: 60_000 })
    for (let number = 0; number < 3_000; number++) analytics.track(track(number))
    await analytics.close()
    expect(service.calls()).toHaveLength(3_000)
  })

  test('of a client without calls resolves at once, even with closeTimeout 0', async () => {
    await clientOf({ endpoint: DEAD_ENDPOINT }, { closeTimeout: 0 }).analytics.close()
  })

  test('makes further calls and room() fail', async () => {
    const service = await startService()
    const { analytics } = clientOf(service, { closeTimeout: 60_000 })
    analytics.track(track(0))
    const closing = analytics.close()
    expect(thrownBy(() => analytics.track(track(1)))).toMatchObject({ code: 'closed' })
    expect(await rejection(analytics.room())).toMatchObject({ code: 'closed' })
    await closing
    expect(thrownBy(() => analytics.track(track(2)))).toMatchObject({ code: 'closed' })
    await analytics.flush()
    expect(service.calls()).toHaveLength(1)
  })

  test('ends waits for room', async () => {
    const { opened, open } = gate()
    const service = await startService(async () => {
      await opened
      return {}
    })
    const { analytics } = clientOf(service, { maxQueue: 1, closeTimeout: 60_000 })
    analytics.track(track(0))
    const room = rejection(analytics.room())
    const closing = analytics.close()
    open()
    expect(await room).toMatchObject({ code: 'closed' })
    await closing
  })

  test('ends them even if onFailure never finishes with the calls that fill the queue', async () => {
    const onFailure = vi.fn(() => new Promise(() => {}))
    const service = await startService(() => ({ status: 400 }))
    const { analytics } = clientOf(service, { maxQueue: 1, closeTimeout: 50, onFailure })
    analytics.track(track(0))
    const room = rejection(analytics.room())
    await until(() => onFailure.mock.calls.length === 1)
    const closing = rejection(analytics.close())
    expect(await room).toMatchObject({ code: 'closed' })
    await closing
  })

  test('returns the same promise when called twice', async () => {
    const { analytics } = clientOf({ endpoint: DEAD_ENDPOINT }, { maxRetries: 0, closeTimeout: 60_000 })
    analytics.track(track(0))
    const first = analytics.close()
    expect(analytics.close()).toBe(first)
    expect(await rejection(first)).toMatchObject({
      code: 'not_sent',
      calls: 1,
      message: expect.stringMatching(/^1 call could/),
    })
    expect(await rejection(analytics.close())).toBe(await rejection(first))
  })

  test('closes its connection', async () => {
    const service = await startService()
    const { analytics } = clientOf(service, { closeTimeout: 60_000 })
    analytics.track(track(0))
    await analytics.close()
    await until(() => service.open() === 0)
  })
})

describe('within closeTimeout, close()', () => {
  test.each([
    [
      'while a request has no response',
      'hang',
      0,
      { cause: { message: expect.stringContaining('closeTimeout') } },
    ],
    [
      'while waiting for a retry',
      { status: 503, headers: { 'retry-after': '300' } },
      1,
      { status: 503, tries: 1, message: expect.stringMatching(/The last error: http:.* answered 503/) },
    ],
  ] as const)('ends %s, and reports all that was not sent', async (_when, answer, warned, said) => {
    const seen = warnings()
    const service = await startService((_arrival, index) => (index === 0 ? {} : answer))
    const { analytics, failures } = clientOf(service, {
      flushAt: 1,
      closeTimeout: 200,
      requestTimeout: 600_000,
    })
    for (let number = 0; number < 4; number++) analytics.track({ ...track(number), messageId: `m-${number}` })
    await until(() => service.arrivals.length === 2 && seen.length === warned)
    const start = performance.now()
    const error = await rejection(analytics.close())
    expect(performance.now() - start).toBeGreaterThanOrEqual(199)
    expect(error).toBeInstanceOf(AnalyticsError)
    expect(error).toMatchObject({ code: 'not_sent', calls: 3, message: expect.stringMatching(/^3 calls /) })
    expect(failures).toEqual([
      {
        error: expect.objectContaining({ code: 'closed' }),
        messages: ['m-1', 'm-2', 'm-3'].map((messageId) => expect.objectContaining({ messageId })),
      },
    ])
    expect(failures[0]?.error).toMatchObject(said)
  })

  test('reports how many calls of a failed batch were not sent', async () => {
    const service = await startService(() => ({ status: 401 }))
    const { analytics, failures } = clientOf(service, { closeTimeout: 60_000 })
    for (let number = 0; number < 5; number++) analytics.track(track(number))
    expect(await rejection(analytics.close())).toMatchObject({
      code: 'not_sent',
      calls: 5,
      cause: { code: 'rejected', status: 401 },
    })
    expect(failures).toHaveLength(1)
  })

  test('counts only later failures', async () => {
    const service = await startService((_arrival, index) => ({ status: index === 0 ? 400 : 200 }))
    const { analytics } = clientOf(service, { closeTimeout: 60_000 })
    analytics.track(track(0))
    await analytics.flush()
    analytics.track(track(1))
    await analytics.close()
  })

  test('ends a pending flush', async () => {
    const service = await startService(() => 'hang')
    const { analytics } = clientOf(service, { closeTimeout: 50 })
    analytics.track(track(0))
    const flushed = analytics.flush()
    expect(await rejection(analytics.close())).toMatchObject({ calls: 1 })
    await flushed
  })
})

describe('a promise of onFailure', () => {
  const refusing = () => startService(() => ({ status: 400 }))

  test('is awaited by flush() and close()', async () => {
    const { opened, open } = gate()
    const onFailure = vi.fn(() => opened)
    const { analytics } = clientOf(await refusing(), { flushAt: 1, closeTimeout: 600_000, onFailure })
    const done: string[] = []
    analytics.track(track(0))
    const flushed = analytics.flush().then(() => done.push('flush'))
    analytics.track(track(1))
    const closed = rejection(analytics.close()).then(() => done.push('close'))
    await until(() => onFailure.mock.calls.length === 2)
    expect(done).toEqual([])
    open()
    await Promise.all([flushed, closed])
    expect(done).toEqual(['flush', 'close'])
  })

  test('that never settles delays neither other calls nor close() beyond its time', async () => {
    const service = await refusing()
    const onFailure = vi.fn(() => new Promise(() => {}))
    const { analytics } = clientOf(service, { flushAt: 1, closeTimeout: 50, onFailure })
    for (let number = 0; number < 3; number++) analytics.track(track(number))
    await until(() => onFailure.mock.calls.length === 3)
    const flushed = analytics.flush()
    await analytics.close()
    await flushed
    expect(service.arrivals).toHaveLength(3)
  })

  test.each(['flush', 'close'] as const)(
    'that waits for %s(), which waits for it, is no longer awaited at the end of that time',
    async (method) => {
      const done: unknown[] = []
      const { analytics } = clientOf(await refusing(), {
        closeTimeout: 50,
        onFailure: async () => done.push(await rejection(analytics[method]())),
      })
      analytics.track(track(0))
      expect(await rejection(analytics.close())).toMatchObject({ code: 'not_sent', calls: 1 })
      await until(() => done.length === 1)
    },
  )

  test('for calls that close() could not send has one more second', async () => {
    const service = await startService(() => 'hang')
    const done: string[] = []
    const { analytics } = clientOf(service, {
      closeTimeout: 50,
      onFailure: async ({ error }) => {
        await new Promise(setImmediate)
        done.push(error.code)
      },
    })
    analytics.track(track(0))
    await rejection(analytics.close())
    expect(done).toEqual(['closed'])
  })
})

test('every call before close() is sent or reported, exactly once', async () => {
  const service = await startService((_arrival, index) => ({ status: index % 3 === 1 ? 400 : 200 }))
  const { analytics, failures } = clientOf(service, { flushAt: 7, closeTimeout: 60_000 })
  let taken = 0
  let closing: Promise<unknown> | undefined
  for (;;) {
    // not after a time: a fast machine would fill the queue
    if (service.arrivals.length >= 6) closing ??= rejection(analytics.close())
    try {
      analytics.track(track(taken))
      taken += 1
    } catch (error) {
      expect(error).toMatchObject({ code: 'closed' })
      break
    }
    if (taken % 5 === 0) await new Promise(setImmediate)
  }
  await closing
  const failed = failures.flatMap(({ messages }) => messages.map(({ messageId }) => messageId))
  const came = service.calls().map(({ messageId }) => messageId)
  expect(new Set(came).size).toBe(came.length)
  expect(came).toHaveLength(taken)
  expect(came).toEqual(expect.arrayContaining(failed))
})
