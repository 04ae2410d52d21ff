import { describe, expect, test, vi } from 'vitest'
import { fault } from '../../../clients/node/errors.ts'
import type {
  Analytics,
  AnalyticsError,
  Callback,
  ErrorListener,
  QueuedMessage,
} from '../../../clients/node/index.ts'
import { reporter } from '../../../clients/node/report.ts'
import { until } from '../../helpers/until.ts'
import { clientOf, gate, startService, thrownBy, track, warnings } from './service.ts'

const rejected = (index: number) => ({
  body: JSON.stringify({ success: true, rejected: [{ index, code: 'too_deep', message: 'Too deep.' }] }),
})

function recorder() {
  const seen: [code: string | null, message: QueuedMessage][] = []
  const callback: Callback = (error, message) => void seen.push([error?.code ?? null, message])
  return { seen, callback, codes: () => seen.map(([code, { messageId }]) => `${messageId} ${code}`) }
}

const numbered = (number: number) => ({ ...track(number), messageId: `m-${number}` })

describe('a callback', () => {
  const calls: [string, (analytics: Analytics, callback: Callback) => void][] = [
    ['identify', (analytics, callback) => analytics.identify({ userId: 'u1' }, callback)],
    ['track', (analytics, callback) => analytics.track({ userId: 'u1', event: 'e' }, callback)],
    ['page', (analytics, callback) => analytics.page({ userId: 'u1' }, callback)],
    ['screen', (analytics, callback) => analytics.screen({ userId: 'u1' }, callback)],
    ['group', (analytics, callback) => analytics.group({ userId: 'u1', groupId: 'g1' }, callback)],
    ['alias', (analytics, callback) => analytics.alias({ userId: 'u1', previousId: 'a1' }, callback)],
  ]
  test.each(calls)('of %s learns of the delivery, with the call as it was sent', async (type, make) => {
    const service = await startService()
    const { analytics } = clientOf(service)
    const { seen, callback } = recorder()
    make(analytics, callback)
    expect(seen).toEqual([])
    await analytics.flush()
    const [[code, message] = []] = seen
    expect([seen.length, code, message?.type]).toEqual([1, null, type])
    expect(service.calls()).toEqual([JSON.parse(message?.json ?? '')])
    expect(service.calls()).toMatchObject([{ type, messageId: message?.messageId }])
  })

  test('learns which call of a batch the service has rejected', async () => {
    const { analytics, failures } = clientOf(await startService(() => rejected(1)))
    const { callback, codes } = recorder()
    for (const number of [0, 1, 2]) analytics.track(numbered(number), callback)
    await analytics.flush()
    expect(codes()).toEqual(['m-0 null', 'm-1 too_deep', 'm-2 null'])
    expect(failures).toHaveLength(1)
  })

  test('learns of a failed batch, with the error that onFailure gets', async () => {
    const { analytics, failures } = clientOf(await startService(() => ({ status: 400 })))
    const errors: (AnalyticsError | null)[] = []
    analytics.track(track(0), (error) => errors.push(error))
    analytics.track(track(1))
    await analytics.flush()
    expect(errors).toEqual([failures[0]?.error])
    expect(failures).toMatchObject([{ error: { code: 'rejected' }, messages: [{}, {}] }])
  })

  test('learns of calls that close() leaves behind', async () => {
    const { analytics } = clientOf(await startService(() => 'hang'), { closeTimeout: 0 })
    const { callback, codes } = recorder()
    analytics.track(numbered(0), callback)
    await expect(analytics.close()).rejects.toMatchObject({ code: 'not_sent' })
    expect(codes()).toEqual(['m-0 closed'])
  })

  test('is awaited by flush(), and its call counts towards maxQueue until then', async () => {
    const { opened, open } = gate()
    const { analytics } = clientOf(await startService(), { maxQueue: 1 })
    let finished = false
    analytics.track(track(0), async () => {
      await opened
      finished = true
    })
    const flushed = analytics.flush()
    const full = () => thrownBy(() => analytics.track(track(1)))
    await until(() => /held by onFailure or callbacks/.test(String(full())))
    expect([full(), finished]).toMatchObject([{ code: 'queue_full' }, false])
    open()
    await flushed
    expect(finished).toBe(true)
    analytics.track(track(1))
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken callback')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken callback'))],
    [
      'throws an error whose stack is no text',
      () => {
        throw Object.assign(new Error('broken'), { stack: Symbol('broken callback') })
      },
    ],
    [
      'throws an error whose stack throws',
      () => {
        const stack = () => {
          throw new Error('no stack')
        }
        throw Object.defineProperty(new Error('broken'), 'stack', { get: stack })
      },
    ],
  ])('that %s is a warning of the process, and hides no other', async (_how, broken) => {
    const seen = warnings()
    const { analytics } = clientOf(await startService())
    const { callback, codes } = recorder()
    analytics.track(track(0), broken)
    analytics.track(numbered(1), callback)
    await analytics.flush()
    expect(codes()).toEqual(['m-1 null'])
    const text = expect.stringMatching(
      /^The callback of a call has failed: (Error: broken callback|no stack$)/,
    )
    expect(seen).toEqual([[text, { type: 'AnalyticsWarning' }]])
  })

  test('must be a function, or absent', async () => {
    const service = await startService()
    const { analytics } = clientOf(service)
    for (const wrong of ['text', {}, false, 0] as unknown as Callback[])
      expect(thrownBy(() => analytics.track(track(0), wrong))).toMatchObject({
        code: 'callback_not_function',
      })
    analytics.track(track(1), null)
    analytics.track(track(2), undefined)
    await analytics.flush()
    expect(service.calls()).toHaveLength(2)
  })

  test('is not called for a call that throws', async () => {
    const { analytics } = clientOf(await startService())
    const callback = vi.fn()
    expect(thrownBy(() => analytics.track({ userId: 'u1', event: '' }, callback))).toMatchObject({
      code: 'event_not_defined',
    })
    await analytics.flush()
    expect(callback).not.toHaveBeenCalled()
  })
})

describe("on('error')", () => {
  test('gets each failure, with its messages, beside onFailure', async () => {
    const { analytics, failures } = clientOf(await startService(() => ({ status: 400 })))
    const listener = vi.fn<ErrorListener>()
    expect(analytics.on('error', listener)).toBe(analytics)
    analytics.track(track(0))
    await analytics.flush()
    expect(failures).toHaveLength(1)
    expect(listener.mock.calls).toEqual([[failures[0]?.error, failures[0]?.messages]])
  })

  test('is awaited by flush(), and its error is a warning', async () => {
    const seen = warnings()
    const { analytics } = clientOf(await startService(() => ({ status: 400 })), { onFailure: undefined })
    analytics.on('error', async () => {
      await Promise.resolve()
      throw new Error('broken listener')
    })
    analytics.track(track(0))
    await analytics.flush()
    expect(seen).toEqual([[expect.stringContaining('broken listener'), { type: 'AnalyticsWarning' }]])
  })

  test('once() is for one failure, off() removes a listener; then it is a warning again', async () => {
    const seen = warnings()
    const { analytics } = clientOf(await startService(() => ({ status: 400 })), { onFailure: undefined })
    const [first, every] = [vi.fn<ErrorListener>(), vi.fn<ErrorListener>()]
    analytics.once('error', first).on('error', every)
    for (const number of [0, 1, 2]) {
      if (number === 2) analytics.off('error', every)
      analytics.track(track(number))
      await analytics.flush()
    }
    expect([first.mock.calls.length, every.mock.calls.length]).toEqual([1, 2])
    expect(seen).toEqual([[expect.stringMatching(/^1 call could not be delivered/), expect.anything()]])
  })

  test('once() is for one failure even within a batch, and the next is a warning', async () => {
    const seen = warnings()
    const body = '{"success":true,"rejected":[{"index":0,"code":"too_deep"},{"index":1,"code":"too_deep"}]}'
    const { analytics } = clientOf(await startService(() => ({ body })), { onFailure: undefined })
    const first = vi.fn<ErrorListener>()
    analytics.once('error', first)
    for (const number of [0, 1]) analytics.track(track(number))
    await analytics.flush()
    expect(first).toHaveBeenCalledTimes(1)
    expect(seen).toEqual([[expect.stringMatching(/^1 call could not be delivered/), expect.anything()]])
  })

  test('is the only event, and takes functions', async () => {
    const { analytics } = clientOf(await startService())
    const wrong = (event: unknown, listener: unknown) =>
      thrownBy(() => analytics.on(event as 'error', listener as ErrorListener))
    expect(wrong('drained', () => {})).toMatchObject({ code: 'unknown_event' })
    expect(wrong('error', 'text')).toMatchObject({ code: 'callback_not_function' })
  })
})

test('the warning counts only failed calls without a callback', async () => {
  const seen = warnings()
  const { analytics } = clientOf(await startService(() => ({ status: 400 })), { onFailure: undefined })
  analytics.track(track(0), () => {})
  analytics.track(track(1))
  analytics.track(track(2))
  await analytics.flush()
  analytics.track(track(3), () => {})
  await analytics.flush()
  expect(seen).toEqual([[expect.stringMatching(/^2 calls could not be delivered/), expect.anything()]])
})

describe('disable', () => {
  test('settles each call in a microtask, sends nothing, and needs no room', async () => {
    const service = await startService()
    const { analytics } = clientOf(service, { disable: true, maxQueue: 1, flushAt: 1 })
    const { callback, codes } = recorder()
    for (const number of [0, 1, 2]) analytics.track(numbered(number), callback)
    expect(codes()).toEqual([])
    await Promise.resolve()
    expect(codes()).toEqual(['m-0 null', 'm-1 null', 'm-2 null'])
    await analytics.room()
    await analytics.flush()
    await analytics.close()
    expect(service.arrivals).toEqual([])
  })

  test('still checks options and calls, and awaits callbacks', async () => {
    expect(thrownBy(() => clientOf({ endpoint: 'nowhere' }, { disable: true }))).toMatchObject({
      code: 'invalid_endpoint',
    })
    const { analytics } = clientOf(await startService(), { disable: true })
    expect(thrownBy(() => analytics.track({ userId: 'u1', event: '' }))).toMatchObject({
      code: 'event_not_defined',
    })
    const { opened, open } = gate()
    let finished = false
    analytics.track(track(0), async () => {
      await opened
      finished = true
    })
    setImmediate(open)
    await analytics.flush()
    expect(finished).toBe(true)
    await analytics.close()
    expect(thrownBy(() => analytics.track(track(1)))).toMatchObject({ code: 'closed' })
  })
})

test('150,000 callbacks are called at once, as at the end of closeTimeout', async () => {
  let called = 0
  const callback = () => {
    called += 1
  }
  const calls = Array.from({ length: 150_000 }, () => ({
    type: 'track' as const,
    json: '{"messageId":"m-1"}',
    bytes: 19,
    callback,
  }))
  const report = reporter({ onFailure: undefined, listeners: () => [] })
  await report(calls, [{ error: fault('closed', 'The client was closed.'), calls }])
  expect(called).toBe(150_000)
})
