import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Bucket, draw, type RateLimit } from '../../../process/token-bucket.ts'
import { fakeIngest, post } from '../fake.ts'
import { metricLines } from '../metric-lines.ts'

const anyLimit = fc.record({
  perSecond: fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.double({ min: 0.01, max: 1e6, noNaN: true })),
  burst: fc.integer({ min: 1, max: 1e6 }),
})
/** `after`: ms since the request before. */
const anyRequests = fc.array(
  fc.record({
    after: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 10_000, noNaN: true })),
    calls: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2_500 })),
  }),
  { maxLength: 60 },
)
const start = fc.double({ min: 0, max: 1e9, noNaN: true })

describe('a token bucket', () => {
  test('never admits more calls in any time than burst, perSecond times it, and one request', () => {
    fc.assert(
      fc.property(anyLimit, anyRequests, start, (limit, requests, from) => {
        let bucket: Bucket | undefined
        let now = from
        const passed: { at: number; calls: number }[] = []
        for (const { after, calls } of requests) {
          now += after
          const drawn = draw(bucket, { limit, cost: calls, now })
          if (!drawn.passed) continue
          bucket = drawn.bucket
          passed.push({ at: now, calls })
        }
        for (let first = 0; first < passed.length; first++)
          for (let sum = 0, last = first; last < passed.length; last++) {
            const { at, calls } = passed[last] ?? { at: 0, calls: 0 }
            sum += calls
            const seconds = (at - (passed[first]?.at ?? 0)) / 1000
            const most = limit.burst + limit.perSecond * seconds + calls
            expect(sum).toBeLessThanOrEqual(most * (1 + 1e-9))
          }
      }),
    )
  })

  test('admits a client that has waited as long as it was told', () => {
    fc.assert(
      fc.property(anyLimit, anyRequests, start, (limit, requests, from) => {
        let bucket: Bucket | undefined
        let now = from
        for (const { after, calls } of requests) {
          now += after
          const drawn = draw(bucket, { limit, cost: calls, now })
          if (drawn.passed) {
            bucket = drawn.bucket
            continue
          }
          const { retryAfter } = drawn
          expect(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 300).toBe(true)
          const waited = draw(bucket, { limit, cost: calls, now: now + retryAfter * 1000 })
          if (retryAfter < 300) expect(waited.passed).toBe(true)
        }
      }),
    )
  })

  const limit: RateLimit = { perSecond: 10, burst: 20 }

  test('starts full, and is empty after its burst', () => {
    expect(draw(undefined, { limit, cost: 20, now: 5 })).toEqual({
      passed: true,
      bucket: { tokens: 0, at: 5 },
    })
    expect(draw({ tokens: 0, at: 5 }, { limit, cost: 1, now: 5 })).toEqual({ passed: false, retryAfter: 1 })
  })

  test.each([
    ['one token is enough', 1, 20, true],
    ['for a batch of any size', 1, 2_500, true],
    ['less than one is not', 0.99, 1, false],
    ['a debt is waited for', -50, 1, false],
  ])('%s', (_what, tokens, calls, passed) => {
    expect(draw({ tokens, at: 0 }, { limit, cost: calls, now: 0 }).passed).toBe(passed)
  })

  test.each([
    [0, 1],
    [-8.9, 1],
    [-9.1, 2],
    [-49, 5],
    [-2_988, 299],
    [-2_999, 300],
    [-10_000, 300],
  ])('of %d tokens says to wait %d seconds', (tokens, retryAfter) => {
    expect(draw({ tokens, at: 0 }, { limit, cost: 1, now: 0 })).toEqual({ passed: false, retryAfter })
  })

  test('never holds more than its burst', () => {
    const drawn = draw({ tokens: 3, at: 0 }, { limit, cost: 1, now: 86_400_000 })
    expect(drawn).toEqual({ passed: true, bucket: { tokens: 19, at: 86_400_000 } })
  })
})

describe('a source with a rate limit', () => {
  const call = { userId: 'u', event: 'Bought' }
  const batch = (calls: number) => ({ batch: Array(calls).fill({ type: 'track', ...call }) })
  const unlimited = { id: 'shop', writeKey: 'shop-key', enabled: true }
  const limited = () => ({ ...unlimited, rateLimit: { perSecond: 2, burst: 4 } })

  function ingestOf(source: typeof unlimited) {
    const time = { ms: 1_000 }
    const sources = [source]
    return { time, sources, ingest: fakeIngest({ sources, clock: () => time.ms }) }
  }

  test('has excess calls refused until its seconds have passed; they are not stored, but counted', async () => {
    const { ingest, time } = ingestOf(limited())
    for (let index = 0; index < 4; index++)
      expect((await post(ingest, '/v1/track', call)).statusCode).toBe(200)
    const refused = await post(ingest, '/v1/track', { not: 'valid' })
    expect(refused.statusCode).toBe(429)
    expect(refused.headers).toMatchObject({
      'retry-after': '1',
      'access-control-expose-headers': 'Retry-After',
      'access-control-allow-origin': '*',
    })
    expect(refused.json()).toEqual({
      code: 'rate_limited',
      message: expect.stringContaining('At most 2 a second, and 4 at once'),
    })
    expect([ingest.events().length, ingest.rejected().length]).toEqual([4, 0])
    expect(await metricLines(ingest, 'sluice_ingest_calls_rejected')).toEqual([
      'sluice_ingest_calls_rejected_total{source="shop",type="track",code="rate_limited"} 1',
    ])
    time.ms += 1_000
    const later = [await post(ingest, '/v1/track', call), await post(ingest, '/v1/track', call)]
    expect([...later, await post(ingest, '/v1/track', call)].map(({ statusCode }) => statusCode)).toEqual([
      200, 200, 429,
    ])
  })

  test('charges a batch for its calls, as a debt if it has too few tokens', async () => {
    const { ingest, time } = ingestOf(limited())
    expect((await post(ingest, '/v1/batch', batch(104))).statusCode).toBe(200)
    const refused = await post(ingest, '/v1/batch', batch(1))
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '51'])
    time.ms += 50_000
    expect((await post(ingest, '/v1/batch', batch(1))).statusCode).toBe(429)
    time.ms += 1_000
    expect((await post(ingest, '/v1/batch', batch(1))).statusCode).toBe(200)
  })

  test('charges a batch with too many calls for the most that one may have', async () => {
    const { ingest, time } = ingestOf(limited())
    expect((await post(ingest, '/v1/batch', batch(5_000))).statusCode).toBe(413)
    time.ms += (2_500 - 4) * 500
    expect((await post(ingest, '/v1/track', call)).statusCode).toBe(429)
    time.ms += 500
    expect((await post(ingest, '/v1/track', call)).statusCode).toBe(200)
  })

  test.each([
    ['what is not JSON', '{"batch": ['],
    ['a batch of nothing', { batch: [] }],
    ['what is no batch', { batch: 'x'.repeat(100_000) }],
  ])('charges one for %s', async (_what, body) => {
    const { ingest } = ingestOf(limited())
    const answers = []
    for (let index = 0; index < 5; index++) answers.push(await post(ingest, '/v1/batch', body))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400, 400, 429])
  })

  test('uses a new limit at once, with a full bucket', async () => {
    const { ingest, sources } = ingestOf(limited())
    await post(ingest, '/v1/batch', batch(500))
    expect((await post(ingest, '/v1/track', call)).statusCode).toBe(429)
    sources[0] = { ...unlimited, ...{ rateLimit: { perSecond: 1, burst: 1 } } }
    expect((await post(ingest, '/v1/track', call)).statusCode).toBe(200)
    expect((await post(ingest, '/v1/track', call)).json().message).toContain(
      'At most 1 a second, and 1 at once',
    )
    sources[0] = unlimited
    for (let index = 0; index < 9; index++)
      expect((await post(ingest, '/v1/batch', batch(100))).statusCode).toBe(200)
  })

  test('is independent of other sources', async () => {
    const other = { ...limited(), id: 'other', writeKey: 'other-key' }
    const ingest = fakeIngest({ sources: [limited(), other] })
    await post(ingest, '/v1/batch', batch(500))
    expect((await post(ingest, '/v1/track', call)).statusCode).toBe(429)
    const authorization = `Basic ${Buffer.from('other-key:').toString('base64')}`
    expect((await post(ingest, '/v1/track', call, { authorization })).statusCode).toBe(200)
  })

  test('that is disabled answers so, not that it is over its limit', async () => {
    const ingest = fakeIngest({ sources: [{ ...limited(), enabled: false }] })
    for (let index = 0; index < 9; index++)
      expect((await post(ingest, '/v1/batch', batch(100))).json().code).toBe('source_disabled')
  })
})
