import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Posted } from '../../../clients/node/answer.ts'
import { deliverer } from '../../../clients/node/deliver.ts'
import type { Post } from '../../../clients/node/post.ts'
import { warnings } from './service.ts'

const MINUTE = 60_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

const unavailable = (retryAfter?: string): Posted => ({ status: 503, retryAfter, body: '' })
const success: Posted = { status: 200, retryAfter: undefined, body: '{"success":true}' }

/** Before each answer, `minutes` pass on the faked clocks; `then` runs after the first. */
function delivererOf(
  answers: readonly Posted[],
  { minutes = 0, maxRetries = 1_000, retryBase = 1, then = () => {} } = {},
) {
  const left = [...answers]
  const post = vi.fn<Post>(async () => {
    vi.advanceTimersByTime(minutes * MINUTE)
    if (post.mock.calls.length === 1) setImmediate(then)
    return left.shift() ?? unavailable()
  })
  const endpoint = 'http://host:8090/v1/batch?token=hidden'
  const settings = { endpoint, gzip: false, maxRetries, retryBase }
  const deliver = deliverer({ post, settings, debug: undefined })
  const send = () =>
    deliver([{ type: 'track', json: '{"messageId":"m-1"}', bytes: 19 }], new AbortController().signal)
  return { post, send }
}

describe('a batch is given up 45 minutes after its first attempt', () => {
  const gaveUp = (tries: number) => ({
    outcome: 'failed',
    error: {
      code: 'gave_up',
      message: 'Gave up after 45 minutes: http://host:8090/v1/batch answered 503.',
      tries,
      status: 503,
    },
  })
  beforeEach(() => void warnings())

  test('however many retries are left', async () => {
    const { post, send } = delivererOf([], { minutes: 10 })
    expect(await send()).toMatchObject(gaveUp(5))
    expect(post).toHaveBeenCalledTimes(5)
  })

  test('even during an attempt, which gets only the remaining time', async () => {
    const { post, send } = delivererOf([], { minutes: 20 })
    await send()
    expect(post.mock.calls.map(([, { mostMs }]) => mostMs / MINUTE)).toEqual([45, 25, 5])
  })

  test('at once, if the service asks for a longer wait than remains', async () => {
    const { post, send } = delivererOf([unavailable('300')], { minutes: 41 })
    expect(await send()).toMatchObject(gaveUp(1))
    expect(post).toHaveBeenCalledTimes(1)
  })

  test('if it wakes too late, because the machine has slept', async () => {
    // the monotonic clock stops meanwhile
    const then = () => void vi.setSystemTime(Date.now() + 46 * MINUTE)
    const { post, send } = delivererOf([], { retryBase: 10_000, then })
    vi.spyOn(Math, 'random').mockReturnValue(0.005)
    onTestFinished(() => void vi.mocked(Math.random).mockRestore())
    expect(await send()).toMatchObject(gaveUp(1))
    expect(post).toHaveBeenCalledTimes(1)
  })

  test('and not earlier, even if a clock is set back', async () => {
    const then = () => void vi.setSystemTime(0)
    const { post, send } = delivererOf([unavailable(), unavailable(), success], { minutes: 20, then })
    expect(await send()).toEqual({ outcome: 'sent', rejected: [] })
    expect(post).toHaveBeenCalledTimes(3)
  })
})

describe('a temporary refusal', () => {
  const refusal = (status: number, code: string): Posted => ({
    status,
    retryAfter: undefined,
    body: JSON.stringify({ code, message: 'No.' }),
  })
  const unknown = refusal(401, 'unknown_source')
  const off = refusal(403, 'source_disabled')
  const rejected = (reason: string) => ({ outcome: 'failed', error: { code: 'rejected', reason } })
  const sent = { outcome: 'sent', rejected: [] }
  /** In minutes. */
  const SECOND = 1 / 60
  const many = (answer: Posted) => Array<Posted>(100).fill(answer)
  beforeEach(() => {
    // no wait between attempts
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.mocked(Math.random).mockRestore())
  })

  test('of a source that the service does not know yet is retried, with one warning', async () => {
    const seen = warnings()
    const { post, send } = delivererOf([unknown, unknown, success], { minutes: SECOND })
    expect(await send()).toEqual(sent)
    expect(post).toHaveBeenCalledTimes(3)
    expect(seen).toEqual([
      [
        expect.stringContaining('answered 401 unknown_source: No.'),
        expect.objectContaining({ code: 'SLUICE_TRYING_AGAIN' }),
      ],
    ])
  })

  test.each([
    ['unknown_source', unknown, 10],
    ['source_disabled', off, 60],
  ])('of %s is final when it still comes so long after the first', async (reason, answer, seconds) => {
    warnings()
    const { post, send } = delivererOf(many(answer), { minutes: SECOND })
    expect(await send()).toMatchObject(rejected(reason))
    // each attempt takes a second; the time starts with the first response
    expect(post).toHaveBeenCalledTimes(seconds + 1)
  })

  test('is final at once for later batches, until one is accepted', async () => {
    warnings()
    const { post, send } = delivererOf([...many(unknown).slice(0, 12), success, unknown, success], {
      minutes: SECOND,
    })
    expect(await send()).toMatchObject(rejected('unknown_source'))
    expect(await send()).toMatchObject(rejected('unknown_source'))
    expect(post).toHaveBeenCalledTimes(12)
    expect([await send(), await send()]).toEqual([sent, sent])
  })

  test('is final after the last retry, with the message of the service', async () => {
    const { post, send } = delivererOf([off], { maxRetries: 0 })
    expect(await send()).toMatchObject(rejected('source_disabled'))
    expect(post).toHaveBeenCalledTimes(1)
  })
})

describe('a warning about retries', () => {
  test('is emitted once until a batch has arrived, with the URL and the reason, and without secrets', async () => {
    const seen = warnings()
    const { send } = delivererOf([
      { error: new Error('connect ECONNREFUSED') },
      unavailable(),
      success,
      success,
      unavailable(),
      success,
    ])
    for (let batch = 0; batch < 3; batch++) await send()
    const about = { type: 'AnalyticsWarning', code: 'SLUICE_TRYING_AGAIN' }
    const start = 'Calls cannot be delivered to http://host:8090/v1/batch at the moment; retrying:'
    expect(seen).toEqual([
      [`${start} connect ECONNREFUSED`, about],
      [`${start} http://host:8090/v1/batch answered 503.`, about],
    ])
  })

  test('is not repeated for the next batch after one was given up', async () => {
    const seen = warnings()
    const { send } = delivererOf([], { maxRetries: 1 })
    for (let batch = 0; batch < 3; batch++) await send()
    expect(seen).toHaveLength(1)
  })

  test('is not emitted without a retry', async () => {
    const seen = warnings()
    expect(await delivererOf([], { maxRetries: 0 }).send()).toMatchObject({ outcome: 'failed' })
    expect(seen).toEqual([])
  })
})
