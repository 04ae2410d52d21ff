import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { cancelled, createAttemptLog, type LoggedResult } from '../../deliverer/attempt-log.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import { urlHash } from '../../delivery/url-hash.ts'
import type { OutRecord, Produced } from '../../kafka/produce/produce.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import { aDelivery } from '../helpers/events.ts'

const now = 1_764_000_000_123
const MAX_QUEUED_BYTES = 16 * 1024 * 1024

beforeEach(() => void vi.useFakeTimers({ now }))
afterEach(() => void vi.useRealTimers())

const aPosted = (outcome: Outcome, response: string | null = null): LoggedResult => ({
  urlIndex: 1,
  url: 'https://one.example/',
  startedAt: 1_700_000_000_500,
  durationMs: 35,
  outcome,
  response,
  settles: outcome.outcome === 'delivered',
})
const delivered = aPosted({ outcome: 'delivered', status: 200 })

/** `writes`: the records of each write. */
function aLog(outcome: Produced = 'acked') {
  let queuedBytes = 0
  const writes: (readonly OutRecord[])[] = []
  const unlogged: number[] = []
  const written = vi.fn()
  const log = createAttemptLog({
    producer: {
      produce: async (records) => {
        writes.push(records)
        return outcome
      },
      queuedBytes: () => queuedBytes,
    },
    // values are compared; bytes are the codec's affair
    codec: { encode: (attempt) => Buffer.from(JSON.stringify(attempt)) },
    losses: { lost: (attempts) => void unlogged.push(attempts), written },
  })
  return {
    ...log,
    post: (count = 1) => {
      for (let each = 0; each < count; each++) log.add(aDelivery(), delivered)
    },
    queue: (bytes: number) => {
      queuedBytes = bytes
    },
    sizes: () => writes.map(({ length }) => length),
    records: () => writes.flat(),
    attempts: () => writes.flat().map(({ value }): Attempt => JSON.parse(String(value))),
    unlogged,
    written,
  }
}

test('a delivery that another program wrote may already have the highest attempt number', () => {
  const log = aLog()
  log.add(aDelivery({ attempt: 2 ** 31 - 1 }), delivered)
  log.flush()
  expect(log.attempts()).toMatchObject([{ attempt: 2 ** 31 - 1 }])
})

describe('the attempt log', () => {
  test('writes a batch when its first record has waited for 100 ms', () => {
    const log = aLog()
    log.post()
    vi.advanceTimersByTime(60)
    log.post()
    vi.advanceTimersByTime(39)
    expect(log.sizes()).toEqual([])
    vi.advanceTimersByTime(1)
    expect(log.sizes()).toEqual([2])
    vi.advanceTimersByTime(1_000)
    expect(log.sizes()).toEqual([2])
  })

  test('writes 500 records without waiting', () => {
    const log = aLog()
    log.post(499)
    expect(log.sizes()).toEqual([])
    log.post(2)
    expect(log.sizes()).toEqual([500])
    vi.advanceTimersByTime(100)
    expect(log.sizes()).toEqual([500, 1])
  })

  test('writes at once when flushed, and only once', () => {
    const log = aLog()
    log.post(3)
    log.flush()
    expect(log.sizes()).toEqual([3])
    log.flush()
    vi.advanceTimersByTime(1_000)
    expect(log.sizes()).toEqual([3])
  })

  test('writes to topic attempts with the destination as key, in order', () => {
    const log = aLog()
    log.add(aDelivery({ destinationId: 'crm' }), delivered)
    log.add(aDelivery({ destinationId: 'shop-mail' }), delivered)
    log.flush()
    expect(log.records()).toMatchObject([
      { topic: 'attempts', key: 'crm' },
      { topic: 'attempts', key: 'shop-mail' },
    ])
  })
})

describe('a record', () => {
  const ids = {
    deliveryId: '0123456789abcdef0123456789abcdef',
    messageId: 'm1',
    sourceId: 'shop',
    destinationId: 'crm',
  }
  const times = { startedAt: 1_700_000_000_500, durationMs: 35 }
  const hash = { urlHash: urlHash(aPosted({ outcome: 'delivered', status: 200 }).url) }

  test('of a POST has its URL and its hash, attempt number, time and outcome, and when its call was accepted', () => {
    const log = aLog()
    const acceptedAt = 1_700_000_000_000
    log.add(aDelivery({ attempt: 2, acceptedAt }), aPosted({ outcome: 'delivered', status: 201 }, 'thanks'))
    log.flush()
    const posted = { outcome: 'delivered', status: 201, code: null, response: 'thanks' }
    const outcome = { ...posted, acceptedAt, settles: true }
    expect(log.attempts()).toEqual([{ ...ids, attempt: 3, urlIndex: 1, ...times, ...outcome, ...hash }])
  })

  test.each<[string, Outcome, Partial<Attempt>]>([
    [
      'that was answered with a failure has status and code, and no delay asked for',
      { outcome: 'retry', code: 'http_5xx', status: 503, retryAfterMs: 1_000 },
      { outcome: 'retry', status: 503, code: 'http_5xx' },
    ],
    [
      'that was not answered has a code alone',
      { outcome: 'retry', code: 'timeout' },
      { outcome: 'retry', status: null, code: 'timeout' },
    ],
    [
      'that was refused has a code alone',
      { outcome: 'refused', code: 'tls_expired' },
      { outcome: 'refused', status: null, code: 'tls_expired' },
    ],
    [
      'that was passed over has a code alone',
      { outcome: 'deferred', code: 'breaker_open' },
      { outcome: 'deferred', status: null, code: 'breaker_open' },
    ],
  ])('of a POST %s', (_, outcome, fields) => {
    const log = aLog()
    log.add(aDelivery(), aPosted(outcome))
    log.flush()
    const rest = { response: null, acceptedAt: null, settles: false }
    expect(log.attempts()).toEqual([
      { ...ids, attempt: 1, urlIndex: 1, ...times, ...fields, ...rest, ...hash },
    ])
  })

  test('of a held delivery has no URL, and the code destination_paused', () => {
    const log = aLog()
    log.held(aDelivery({ attempt: 4 }))
    log.flush()
    const [held] = log.attempts()
    expect(held).toMatchObject({
      attempt: 5,
      urlIndex: null,
      outcome: 'deferred',
      code: 'destination_paused',
    })
    expect(held).toMatchObject({ durationMs: 0, status: null, urlHash: null, settles: false })
  })

  test('of a cancelled delivery has no URL, and the time of cancellation', () => {
    const codec = { encode: (attempt: Attempt) => Buffer.from(JSON.stringify(attempt)) }
    const code = 'destination_disabled'
    const record = cancelled(aDelivery({ attempt: 4 }), { code, codec, now })
    expect(record).toMatchObject({ topic: 'attempts', key: 'crm' })
    expect(JSON.parse(String(record.value))).toEqual({
      ...ids,
      attempt: 5,
      urlIndex: null,
      startedAt: now,
      durationMs: 0,
      outcome: 'cancelled',
      status: null,
      code,
      response: null,
      urlHash: null,
      acceptedAt: null,
      settles: false,
    })
  })
})

describe('dropped records are counted', () => {
  test('when more than 16 MB wait to be written, until less waits', () => {
    const log = aLog()
    log.queue(MAX_QUEUED_BYTES + 1)
    log.post(3)
    vi.advanceTimersByTime(1_000)
    expect([log.sizes(), log.unlogged]).toEqual([[], [1, 1, 1]])
    log.queue(MAX_QUEUED_BYTES)
    log.post()
    vi.advanceTimersByTime(100)
    expect([log.sizes(), log.unlogged]).toEqual([[1], [1, 1, 1]])
  })

  test.each<Produced>(['unknown', 'full', 'too_large', 'refused'])(
    'with all that was written together when that is %s',
    async (outcome) => {
      const log = aLog(outcome)
      log.post(3)
      await vi.advanceTimersByTimeAsync(100)
      expect(log.unlogged).toEqual([3])
    },
  )

  test('and written ones are not', async () => {
    const log = aLog()
    log.post(3)
    await vi.advanceTimersByTimeAsync(100)
    expect([log.sizes(), log.unlogged]).toEqual([[3], []])
  })

  test('writing goes on once the queue is half empty', async () => {
    const log = aLog()
    log.queue(MAX_QUEUED_BYTES / 2 + 1)
    log.post()
    await vi.advanceTimersByTimeAsync(100)
    expect([log.sizes(), log.written.mock.calls.length]).toEqual([[1], 0])
    log.queue(MAX_QUEUED_BYTES / 2)
    log.post()
    await vi.advanceTimersByTimeAsync(100)
    expect([log.sizes(), log.written.mock.calls.length]).toEqual([[1, 1], 1])
  })
})
