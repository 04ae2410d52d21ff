import { expect, test } from 'vitest'
import { aTracer, SAMPLED } from '../trace/collected.ts'
import { fakeIngest, post } from './fake.ts'

const call = { userId: 'the-user', event: 'Paid' }

/** @returns name, status, code and source of each span */
async function told(requests: (ingest: ReturnType<typeof fakeIngest>) => Promise<unknown>) {
  const { tracer, ended } = aTracer()
  await requests(fakeIngest({ door: { tracer } }))
  return (await ended()).map(({ name, attributes, links }) => [
    name,
    attributes['http.response.status_code'],
    attributes['sluice.code'],
    attributes['sluice.source.id'],
    links.length,
  ])
}

test('each request that may carry calls records its result', async () => {
  const spans = await told(async (ingest) => {
    await post(ingest, '/v1/track/?writeKey=other', call, { traceparent: SAMPLED })
    await post(ingest, '/v1/t', 'no JSON')
    await post(ingest, '/v1/batch', { batch: [] }, { authorization: 'Basic bm9ib2R5Og==' })
    await post(ingest, '/v1/track', 'x'.repeat(40_000))
    const data = Buffer.from(JSON.stringify({ ...call, writeKey: 'shop-key' })).toString('base64')
    await ingest.app.inject({ url: `/v1/pixel/track?data=${data}` })
    await ingest.app.inject({ url: '/v1/pixel/nothing?data=' })
  })
  expect(spans).toEqual([
    ['POST /v1/track', 200, 'ok', 'shop', 1],
    ['POST /v1/t', 400, 'invalid_json', 'shop', 0],
    ['POST /v1/batch', 401, 'unknown_source', undefined, 0],
    ['POST /v1/track', 413, 'call_too_large', undefined, 0],
    ['GET /v1/pixel/{type}', 200, 'ok', 'shop', 0],
    ['GET /v1/pixel/{type}', 200, 'unknown_type', undefined, 0],
  ])
})

test('probes, preflights, the description and unknown paths have no trace', async () => {
  const spans = await told(async ({ app }) => {
    for (const url of ['/livez', '/readyz', '/openapi.json', '/nowhere']) await app.inject({ url })
    await app.inject({ method: 'OPTIONS', url: '/v1/track' })
  })
  expect(spans).toEqual([])
})

test('the headers of traces count toward the bytes per second of a source', async () => {
  const rateLimit = { perSecond: 1e6, burst: 1e6, bytesPerSecond: 2_048 }
  const sources = [{ id: 'shop', writeKey: 'shop-key', enabled: true, rateLimit }]
  const batch = Array(200).fill({ type: 'track', userId: 'u', event: 'x', messageId: 'm' })
  const second = async (door: object) => {
    const ingest = fakeIngest({ sources, door })
    expect((await post(ingest, '/v1/batch', { batch })).statusCode).toBe(200)
    return (await post(ingest, '/v1/track', call)).statusCode
  }
  // only with the headers beyond the burst
  expect(await second({})).toBe(200)
  expect(await second({ tracer: aTracer().tracer })).toBe(429)
  expect(await second({ tracer: aTracer({ OTEL_TRACES_SAMPLER: 'always_off' }).tracer })).toBe(429)
  expect(await second({ tracer: aTracer({ OTEL_PROPAGATORS: 'none' }).tracer })).toBe(200)
})
