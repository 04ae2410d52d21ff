import { describe, expect, test } from 'vitest'
import { basic, fakeIngest, post, RECEIVED_AT, sources } from './fake.ts'
import { metricLines } from './metric-lines.ts'

const call = { userId: 'u', event: 'Bought' }
const item = { type: 'track', ...call }

/** Exactly this many bytes of JSON, with a letter of two bytes. */
function ofBytes(bytes: number, wrap: (note: string) => object): string {
  const frame = Buffer.byteLength(JSON.stringify(wrap('é')))
  return JSON.stringify(wrap(`é${'x'.repeat(bytes - frame)}`))
}

describe('a request refused as a whole', () => {
  test.each<[string, string, unknown, Record<string, string>, number, string]>([
    ['JSON that is none', '/v1/track', '{"userId": ', {}, 400, 'invalid_json'],
    ['no body', '/v1/track', '', {}, 400, 'invalid_json'],
    ['no body in a batch', '/v1/batch', '', {}, 400, 'invalid_json'],
    [
      'bytes that are no UTF-8',
      '/v1/track',
      Buffer.from('7b2261223a22ff227d', 'hex'),
      {},
      400,
      'invalid_encoding',
    ],
    ['a call that is none', '/v1/track', [call], {}, 400, 'call_not_object'],
    ['a call without what it needs', '/v1/track', { userId: 'u' }, {}, 400, 'event_not_defined'],
    ['a batch that is none', '/v1/batch', [item], {}, 400, 'batch_not_array'],
    ['a batch of nothing', '/v1/batch', { batch: [] }, {}, 400, 'empty_batch'],
    ['a batch of too many', '/v1/batch', { batch: Array(2_501).fill(0) }, {}, 413, 'too_many_calls'],
    ['an unknown write key', '/v1/track', call, { authorization: basic('nobody') }, 401, 'unknown_source'],
    ['a bearer token alone', '/v1/track', call, { authorization: 'Bearer shop-key' }, 401, 'unknown_source'],
    [
      'a source that is switched off',
      '/v1/track',
      call,
      { authorization: basic('closed-key') },
      403,
      'source_disabled',
    ],
    [
      'a Content-Encoding that is not read',
      '/v1/track',
      call,
      { 'content-encoding': 'br' },
      415,
      'unsupported_encoding',
    ],
  ])(
    'for %s is answered with its code, readable by browsers',
    async (_what, path, body, headers, status, code) => {
      const ingest = fakeIngest()
      const answer = await post(ingest, path, body, headers)
      expect(answer.statusCode).toBe(status)
      expect(answer.json()).toEqual({ code, message: expect.stringMatching(/\.$/) })
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(answer.headers['content-type']).toMatch('application/json')
      expect(ingest.events()).toEqual([])
    },
  )

  test('a body that starts with a byte order mark is read', async () => {
    expect((await post(fakeIngest(), '/v1/track', `\uFEFF${JSON.stringify(call)}`)).statusCode).toBe(200)
  })

  test('Content-Encoding identity is none', async () => {
    expect((await post(fakeIngest(), '/v1/track', call, { 'content-encoding': 'identity' })).statusCode).toBe(
      200,
    )
  })
})

test('an item above 32 KB is rejected in its place', async () => {
  const exact = JSON.parse(ofBytes(32_768, (note) => ({ ...item, properties: { note } })))
  const over = JSON.parse(ofBytes(32_769, (note) => ({ ...item, properties: { note } })))
  const answer = await post(fakeIngest(), '/v1/batch', { batch: [item, over, exact] })
  expect(answer.json()).toMatchObject({ success: true, rejected: [{ index: 1, code: 'call_too_large' }] })
})

describe('rejected calls are stored', () => {
  test('a single one unchanged', async () => {
    const ingest = fakeIngest()
    const raw = '{ "userId": "u",  "event": 5 }'
    expect((await post(ingest, '/v1/track', raw)).statusCode).toBe(400)
    expect(ingest.rejected()).toEqual([
      {
        sourceId: 'shop',
        code: 'event_not_string',
        message: 'event must be a string.',
        raw,
        receivedAt: RECEIVED_AT,
        truncated: false,
      },
    ])
  })

  test.each([
    ['too_many_calls', { batch: Array(2_501).fill({ type: 'track' }) }],
    ['empty_batch', { batch: [] }],
    ['batch_not_array', { calls: [item] }],
    ['invalid_json', '{"batch": ['],
  ])('a batch refused as %s, as a whole', async (code, body) => {
    const ingest = fakeIngest()
    const raw = typeof body === 'string' ? body : JSON.stringify(body)
    expect((await post(ingest, '/v1/batch', raw)).json()).toMatchObject({ code })
    expect(ingest.rejected()).toMatchObject([{ code, raw, truncated: false }])
  })

  test('those of a batch separately from accepted ones, which do not wait for them', async () => {
    const ingest = fakeIngest()
    const answer = await post(ingest, '/v1/batch', { batch: [item, { type: 'track' }, 7, item] })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      success: true,
      rejected: [
        { index: 1, code: 'no_user_or_anonymous_id', message: 'A call needs userId or anonymousId.' },
        { index: 2, code: 'call_not_object', message: 'A call must be a JSON object.' },
      ],
    })
    expect(ingest.produced.map((group) => group.map(({ topic, key }) => [topic, key]))).toEqual([
      [
        ['events', 'shop/u'],
        ['events', 'shop/u'],
      ],
      [
        ['events.rejected', 'shop'],
        ['events.rejected', 'shop'],
      ],
    ])
    expect(ingest.rejected().map(({ raw }) => raw)).toEqual(['{"type":"track"}', '7'])
    // each source has its part of the queue
    expect(ingest.options.map(({ flow }) => flow)).toEqual(['shop', 'shop'])
  })

  test('without its text if it has more than 200 levels', async () => {
    const ingest = fakeIngest()
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    await post(ingest, '/v1/batch', `{"batch": [${[200, 201, 4_000].map(nested)}, {"a":${nested(200)}}]}`)
    expect(ingest.rejected().map(({ raw }) => raw)).toEqual([nested(200), '', '', ''])
  })

  test('also one too deep to print, or one that becomes huge when printed', async () => {
    const ingest = fakeIngest()
    const deep = `{"batch": [${'['.repeat(20_000)}${']'.repeat(20_000)}, {"type": "track", "a": [${Array(90_000).fill('1e20').join()}]}]}`
    expect((await post(ingest, '/v1/batch', deep)).json().rejected).toMatchObject([
      { code: 'call_not_object' },
      { code: 'call_too_large' },
    ])
    expect(
      ingest.rejected().map(({ raw, truncated }) => [Buffer.byteLength(raw) < 1_000_000, truncated]),
    ).toEqual([
      [true, false],
      [true, true],
    ])
  })

  test('one that is larger than a record of Kafka is cut: a byte that is not UTF-8 is stored as three', async () => {
    const stored = async (bytes: number) => {
      const ingest = fakeIngest()
      await post(ingest, '/v1/batch', Buffer.alloc(bytes, 0xff))
      return ingest.rejected().map(({ raw, truncated }) => [Buffer.byteLength(raw), truncated])
    }
    expect(await stored(300_000)).toEqual([[900_000, false]])
    expect(await stored(300_001)).toEqual([[900_000, true]])
  })

  test('a call without a source is not stored', async () => {
    const ingest = fakeIngest()
    await post(ingest, '/v1/track', {}, { authorization: basic('nobody') })
    expect(ingest.produced).toEqual([])
  })
})

describe('records', () => {
  test('have the messageId as a header, and a key by user', async () => {
    const ingest = fakeIngest()
    await post(ingest, '/v1/identify', { anonymousId: 'a', messageId: 'm-1' })
    await post(ingest, '/v1/identify', { userId: 'u', anonymousId: 'a' })
    await post(ingest, '/v1/alias', { userId: 'new', previousId: 'old' })
    expect(ingest.produced.flat()).toMatchObject([
      { topic: 'events', key: 'shop/a', headers: { messageId: 'm-1' } },
      { topic: 'events', key: 'shop/u', headers: { messageId: 'made-1' } },
      { topic: 'events', key: 'shop/new', headers: { messageId: 'made-2' } },
    ])
  })
})

describe('success is answered only after the acknowledgement from Kafka', () => {
  test.each(['full', 'unknown'] as const)('%s is unavailable, with a time to retry', async (outcome) => {
    const ingest = fakeIngest({ outcome })
    const answers = [
      await post(ingest, '/v1/track', call),
      await post(ingest, '/v1/batch', { batch: [item] }),
      await post(ingest, '/v1/batch', { batch: [item, 5] }),
    ]
    for (const answer of answers) {
      expect(answer.statusCode).toBe(503)
      expect(answer.json().code).toBe('unavailable')
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    }
    expect(ingest.options.map(({ deadlineMs }) => deadlineMs)).toEqual([10_000, 10_000, 10_000, undefined])
  })

  test.each(['full', 'unknown', 'refused'] as const)(
    'a batch whose records are %s is refused for good',
    async (outcome) => {
      const ingest = fakeIngest({ outcome })
      expect((await post(ingest, '/v1/track', {})).json().code).toBe('no_user_or_anonymous_id')
      expect(ingest.unlogged).toEqual([1])
    },
  )

  test.each(['too_large', 'refused'] as const)('%s is not retried', async (outcome) => {
    const ingest = fakeIngest({ outcome })
    expect((await post(ingest, '/v1/track', call)).json().code).toBe('call_too_large')
    expect((await post(ingest, '/v1/batch', { batch: [item] })).json().code).toBe('batch_too_large')
  })
})

test('while storage is short, requests are refused with a separate code and a time to retry', async () => {
  const ingest = fakeIngest()
  ingest.state.storageFull = true
  const answer = await post(ingest, '/v1/track', call)
  expect([answer.statusCode, answer.json().code]).toEqual([503, 'storage_full'])
  expect(answer.headers['retry-after']).toBe('30')
  expect(ingest.produced).toEqual([])
  ingest.state.storageFull = false
  expect((await post(ingest, '/v1/track', call)).statusCode).toBe(200)
})

test('while a source is unreadable, calls with an unknown write key must be sent again', async () => {
  const ingest = fakeIngest({ unreadableSource: true })
  for (const path of ['/v1/track', '/v1/batch']) {
    const answer = await post(ingest, path, { batch: [item], ...call }, { authorization: basic('any-key') })
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'source_unreadable'])
    expect(answer.headers['retry-after']).toBe('30')
  }
  // other sources are not affected
  expect((await post(ingest, '/v1/track', call)).statusCode).toBe(200)
  const closed = await post(ingest, '/v1/track', call, { authorization: basic('closed-key') })
  expect(closed.json().code).toBe('source_disabled')
  expect((await post(ingest, '/v1/track', call, { authorization: '' })).json().code).toBe('unknown_source')
})

test('while the queue to Kafka is full, requests are refused unread and do not count for the rate limit', async () => {
  const limited = { id: 'slow', writeKey: 'slow-key', enabled: true, rateLimit: { perSecond: 1, burst: 1 } }
  const ingest = fakeIngest({ sources: [limited] })
  const headers = { authorization: basic('slow-key') }
  ingest.state.isFull = true
  for (const [path, body] of [
    ['/v1/track', call],
    ['/v1/track', '{'],
    ['/v1/batch', { batch: [item] }],
  ] as const) {
    const answer = await post(ingest, path, body, headers)
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'unavailable'])
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  }
  expect(ingest.produced).toEqual([])
  expect(await metricLines(ingest, 'sluice_ingest_calls_rejected')).toEqual([
    'sluice_ingest_calls_rejected_total{source="",type="track",code="unavailable"} 2',
    'sluice_ingest_calls_rejected_total{source="",type="batch",code="unavailable"} 1',
  ])
  ingest.state.isFull = false
  expect((await post(ingest, '/v1/track', call, headers)).statusCode).toBe(200)
})

test('while the part of one source in the queue is full, only its requests are refused unread', async () => {
  const ingest = fakeIngest({ sources: [...sources, { id: 'flood', writeKey: 'flood-key', enabled: true }] })
  ingest.state.isFull = 'flood'
  const refused = await post(ingest, '/v1/track', '{', { authorization: basic('flood-key') })
  expect([refused.statusCode, refused.json().code]).toEqual([503, 'unavailable'])
  expect((await post(ingest, '/v1/track', call)).statusCode).toBe(200)
  expect(await metricLines(ingest, 'sluice_ingest_calls_rejected')).toEqual([
    'sluice_ingest_calls_rejected_total{source="flood",type="track",code="unavailable"} 1',
  ])
})

test('if the key is in the body, nothing is written either, not even rejected calls: they come again', async () => {
  const limited = { perSecond: 1, burst: 1 }
  const flood = { id: 'flood', writeKey: 'flood-key', enabled: true, rateLimit: limited }
  const ingest = fakeIngest({ sources: [flood] })
  ingest.state.isFull = 'flood'
  const body = { writeKey: 'flood-key', batch: [{ ...call, type: 'track' }] }
  for (const batch of [[{ type: 'track' }], ...Array(3).fill(body.batch)])
    expect((await post(ingest, '/v1/batch', { ...body, batch }, { authorization: '' })).statusCode).toBe(503)
  expect(ingest.produced).toEqual([])
  ingest.state.isFull = false
  expect((await post(ingest, '/v1/batch', body, { authorization: '' })).statusCode).toBe(200)
})

test('a single call is measured as received; even if printing makes it larger, it fits into a record', async () => {
  const frame = '{"userId":"u","event":"x","context":{"integrations":{"a":[]}}}'
  const numbers = Array(Math.floor((32_768 - frame.length + 1) / 5))
    .fill('1e20')
    .join()
  const body = frame.replace('[]', `[${numbers}]`)
  expect(body.length).toBeGreaterThan(32_760)
  const ingest = fakeIngest()
  expect((await post(ingest, '/v1/track', body)).statusCode).toBe(200)
  const [record] = ingest.produced.flat()
  expect(Buffer.byteLength(record?.value ?? '')).toBeLessThan(1_000_000)
  const batch = `{"batch":[${body.replace('{', '{"type":"track",')}]}`
  expect((await post(ingest, '/v1/batch', batch)).json().rejected).toMatchObject([{ code: 'call_too_large' }])
})

describe("a direct client's address", () => {
  const direct = { userId: 'u', context: { direct: true } }
  const addressOf = async (trustProxy: string[]) => {
    const ingest = fakeIngest({ door: { trustProxy } })
    await post(ingest, '/v1/identify', direct, { 'x-forwarded-for': '203.0.113.9' })
    return JSON.parse(ingest.events()[0]?.context ?? '{}').ip
  }

  test('comes from a trusted load balancer', async () => {
    expect(await addressOf(['127.0.0.0/8'])).toBe('203.0.113.9')
  })

  test.each([[[]], [['10.0.0.0/8']]])('is not taken from others (%j)', async (trusted) => {
    expect(await addressOf(trusted)).toBe('127.0.0.1')
  })
})
