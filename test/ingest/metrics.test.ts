import { expect, test } from 'vitest'
import { basic, fakeIngest, post } from './fake.ts'

const call = { userId: 'u', event: 'x' }

test('calls are counted by source and type, rejected ones also by code', async () => {
  const ingest = fakeIngest()
  await post(ingest, '/v1/track', call)
  await post(ingest, '/v1/batch', {
    batch: [{ type: 'track', ...call }, { type: 'page', userId: 'u' }, { type: 'group', userId: 'u' }, 5],
  })
  await post(ingest, '/v1/identify', {})
  await post(ingest, '/v1/batch', { batch: [] })
  await post(ingest, '/v1/track', call, { authorization: basic('nobody') })
  await post(ingest, '/v1/track', 'x'.repeat(33_000))
  expect(await lines(ingest, 'sluice_ingest_calls')).toEqual([
    'sluice_ingest_calls_accepted_total{source="shop",type="track"} 2',
    'sluice_ingest_calls_accepted_total{source="shop",type="page"} 1',
    'sluice_ingest_calls_rejected_total{source="shop",type="group",code="group_id_required"} 1',
    'sluice_ingest_calls_rejected_total{source="shop",type="unknown",code="call_not_object"} 1',
    'sluice_ingest_calls_rejected_total{source="shop",type="identify",code="no_user_or_anonymous_id"} 1',
    'sluice_ingest_calls_rejected_total{source="shop",type="batch",code="empty_batch"} 1',
    'sluice_ingest_calls_rejected_total{source="",type="track",code="unknown_source"} 1',
    'sluice_ingest_calls_rejected_total{source="shop",type="track",code="call_too_large"} 1',
  ])
  expect(await lines(ingest, 'sluice_ingest_requests_total')).toEqual([
    'sluice_ingest_requests_total{code="ok"} 2',
    'sluice_ingest_requests_total{code="no_user_or_anonymous_id"} 1',
    'sluice_ingest_requests_total{code="empty_batch"} 1',
    'sluice_ingest_requests_total{code="unknown_source"} 1',
    'sluice_ingest_requests_total{code="call_too_large"} 1',
  ])
  expect(await lines(ingest, 'sluice_ingest_requests_in_flight')).toEqual([
    'sluice_ingest_requests_in_flight 0',
  ])
  expect(await lines(ingest, 'sluice_ingest_request_seconds_count')).toEqual([
    'sluice_ingest_request_seconds_count{route="call"} 2',
    'sluice_ingest_request_seconds_count{route="batch"} 2',
  ])
})

test('a request that is refused unread counts for its source if the key is outside the body', async () => {
  const ingest = fakeIngest()
  const large = 'x'.repeat(33_000)
  await post(ingest, '/v1/track', 'no gzip', { 'content-encoding': 'gzip' })
  await ingest.app.inject({ method: 'POST', url: '/v1/track?writeKey=shop-key', payload: large })
  await ingest.app.inject({ method: 'POST', url: '/v1/track', payload: large })
  for (const key of ['shop-key', 'closed-key'])
    await ingest.app.inject({ url: `/v1/pixel/page?writeKey=${key}&data=${'x'.repeat(50_000)}` })
  expect(await lines(ingest, 'sluice_ingest_calls')).toEqual([
    'sluice_ingest_calls_rejected_total{source="shop",type="track",code="invalid_encoding"} 1',
    'sluice_ingest_calls_rejected_total{source="shop",type="track",code="call_too_large"} 1',
    'sluice_ingest_calls_rejected_total{source="",type="track",code="call_too_large"} 1',
    'sluice_ingest_calls_rejected_total{source="shop",type="page",code="call_too_large"} 1',
    'sluice_ingest_calls_rejected_total{source="closed",type="page",code="call_too_large"} 1',
  ])
})

test('a call without an acknowledgement from Kafka is not counted as accepted', async () => {
  const ingest = fakeIngest({ outcome: 'unknown' })
  await post(ingest, '/v1/track', call)
  expect(await lines(ingest, 'sluice_ingest_calls')).toEqual([
    'sluice_ingest_calls_rejected_total{source="shop",type="track",code="unavailable"} 1',
  ])
})

test.each([
  ['full', 'unavailable', 'unavailable'],
  ['unknown', 'unavailable', 'unavailable'],
  ['too_large', 'call_too_large', 'batch_too_large'],
  ['refused', 'call_too_large', 'batch_too_large'],
] as const)('what Kafka has not taken (%s) is counted by its answer', async (outcome, one, many) => {
  const ingest = fakeIngest({ outcome })
  await post(ingest, '/v1/track', call)
  await post(ingest, '/v1/batch', { batch: [{ type: 'track', ...call }] })
  expect(await lines(ingest, 'sluice_ingest_calls')).toEqual([
    `sluice_ingest_calls_rejected_total{source="shop",type="track",code="${one}"} 1`,
    `sluice_ingest_calls_rejected_total{source="shop",type="batch",code="${many}"} 1`,
  ])
})

async function lines(
  { metrics }: Pick<ReturnType<typeof fakeIngest>, 'metrics'>,
  name: string,
): Promise<string[]> {
  const text = await metrics.metrics()
  return text.split('\n').filter((line) => line.startsWith(name))
}
