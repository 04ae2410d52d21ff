import { describe, expect, test } from 'vitest'
import { CALL_TYPES } from '../../../settings/settings.ts'
import { basic, fakeIngest } from '../fake.ts'
import { metricLines } from '../metric-lines.ts'
import { answerOf, open } from './wire.ts'

const call = { userId: 'u', event: '>>>???é', groupId: 'g', previousId: 'p', writeKey: 'shop-key' }
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const pixel = (data: string, type = 'track') => `/v1/pixel/${type}?data=${data}`

type Answer = { statusCode: number; headers: Record<string, unknown>; rawPayload: Buffer }
function expectPixel({ statusCode, headers, rawPayload }: Answer): void {
  expect(statusCode).toBe(200)
  expect(headers).toMatchObject({
    'content-type': 'image/gif',
    'cache-control': expect.stringContaining('no-store'),
    'access-control-allow-origin': '*',
  })
  // signature, width and height of 1
  expect(rawPayload.toString('latin1', 0, 6)).toBe('GIF89a')
  expect([...rawPayload.subarray(6, 10)]).toEqual([1, 0, 1, 0])
}

describe('a pixel carries a call', () => {
  test.each(CALL_TYPES)('of type %s', async (type) => {
    const ingest = fakeIngest()
    expectPixel(await ingest.app.inject(pixel(base64url(call), type)))
    expectPixel(await ingest.app.inject(pixel(base64url(call), `${type}/`)))
    expect(ingest.events().map((event) => event.type)).toEqual([type, type])
  })

  test.each([
    ['base64', base64(call)],
    ['base64 without padding', base64(call).replace(/=+$/, '')],
    ['base64, percent-encoded', encodeURIComponent(base64(call))],
    ['base64url', base64url(call)],
  ])('in %s', async (_form, data) => {
    const ingest = fakeIngest()
    expect(base64(call)).toMatch(/\+/) // which a query reads as a space
    expectPixel(await ingest.app.inject(pixel(data)))
    expect(ingest.events()).toMatchObject([{ event: call.event, sourceId: 'shop' }])
  })

  test('with the write key beside the data', async () => {
    const ingest = fakeIngest()
    const { writeKey, ...rest } = call
    expectPixel(await ingest.app.inject(`${pixel(base64url(rest))}&writeKey=${writeKey}`))
    const headers = { authorization: basic(writeKey) }
    expectPixel(await ingest.app.inject({ url: pixel(base64url(rest)), headers }))
    expect(ingest.events()).toHaveLength(2)
  })

  test.each([
    [32_767, 1],
    [32_768, 1],
    [32_769, 0],
  ])('of %d bytes, percent-encoded: %d accepted', async (bytes, accepted) => {
    const ingest = fakeIngest()
    const text = JSON.stringify(call)
    const body = text + ' '.repeat(bytes - Buffer.byteLength(text))
    expect(Buffer.byteLength(body)).toBe(bytes)
    const socket = await open(ingest)
    const data = encodeURIComponent(Buffer.from(body).toString('base64'))
    socket.write(`GET ${pixel(data)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(await answerOf(socket)).toMatchObject({ status: 200, headers: { 'content-type': 'image/gif' } })
    expect(ingest.events()).toHaveLength(accepted)
    if (!accepted)
      expect((await metricLines(ingest, 'sluice_ingest_calls_rej')).join()).toMatch(/call_too_large"} 1/)
  })
})

describe('a pixel is always served', () => {
  test.each([
    ['no data', '/v1/pixel/track'],
    ['data twice', `${pixel('x')}&data=y`],
    ['no base64', pixel('%%%')],
    ['no JSON', pixel(base64('x').slice(2))],
    ['no such type', pixel(base64url(call), 'nothing')],
    ['a short form', pixel(base64url(call), 't')],
    ['a type that cannot be read', pixel(base64url(call), '%zz')],
    ['a type of many letters', pixel(base64url(call), 'x'.repeat(500))],
    ['an unknown source', pixel(base64url({ ...call, writeKey: 'nobody' }))],
    ['a source that is switched off', pixel(base64url({ ...call, writeKey: 'closed-key' }))],
  ])('%s', async (_what, url) => {
    const ingest = fakeIngest()
    expectPixel(await ingest.app.inject(url))
    expect(ingest.events()).toEqual([])
    expect(ingest.errors).toEqual([])
  })

  test.each(['unknown', 'full', 'refused'] as const)('Kafka: %s', async (outcome) => {
    expectPixel(await fakeIngest({ outcome }).app.inject(pixel(base64url(call))))
  })

  test('after an internal error', async () => {
    const ingest = fakeIngest({ outcome: Promise.reject(new Error('a fault')) })
    expectPixel(await ingest.app.inject(pixel(base64url(call))))
    expect(ingest.errors).toHaveLength(1)
  })
})

test('a rejected pixel call is stored and counted like any other', async () => {
  const ingest = fakeIngest()
  const { event: _, ...rest } = call
  await ingest.app.inject(pixel(base64url(rest)))
  expect(ingest.rejected()).toMatchObject([
    { sourceId: 'shop', code: 'event_not_defined', raw: JSON.stringify(rest) },
  ])
  expect(await metricLines(ingest, 'sluice_ingest_requests_total')).toEqual([
    'sluice_ingest_requests_total{code="event_not_defined"} 1',
  ])
})

test('a HEAD request for a pixel carries no call', async () => {
  const ingest = fakeIngest()
  const { statusCode, headers } = await ingest.app.inject({ method: 'HEAD', url: pixel(base64url(call)) })
  expect([statusCode, headers['content-type']]).toEqual([200, 'image/gif'])
  expect(ingest.produced).toEqual([])
})

test('a pixel waits for Kafka', async () => {
  const kafka = Promise.withResolvers<'acked'>()
  const ingest = fakeIngest({ outcome: kafka.promise })
  let isAnswered = false
  const answer = ingest.app.inject(pixel(base64url(call))).then((it) => {
    isAnswered = true
    return it
  })
  await expect.poll(() => ingest.produced.length).toBe(1)
  expect(isAnswered).toBe(false)
  kafka.resolve('acked')
  expectPixel(await answer)
})
