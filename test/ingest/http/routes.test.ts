import { expect, test } from 'vitest'
import { CALL_TYPES } from '../../../settings/settings.ts'
import { basic, fakeIngest, post } from '../fake.ts'

const call = { userId: 'u', event: 'Bought', groupId: 'g', previousId: 'p' }
const paths = CALL_TYPES.flatMap((type) =>
  [`/v1/${type}`, `/v1/${type.charAt(0)}`].map((path) => [path, type] as const),
)

test.each(paths)('POST %s accepts a call of type %s, also with a trailing slash', async (path, type) => {
  const ingest = fakeIngest()
  expect(await post(ingest, path, call)).toMatchObject({ statusCode: 200, body: '{"success":true}' })
  expect(await post(ingest, `${path}/`, call)).toMatchObject({ statusCode: 200, body: '{"success":true}' })
  expect(ingest.events().map((event) => event.type)).toEqual([type, type])
})

test.each(['/v1/batch', '/v1/import', '/v1/b'])(
  'POST %s accepts many calls, also with a trailing slash',
  async (path) => {
    const ingest = fakeIngest()
    const batch = [
      { type: 'identify', ...call },
      { type: 'track', ...call },
    ]
    expect((await post(ingest, path, { batch })).statusCode).toBe(200)
    expect((await post(ingest, `${path}/`, { batch })).statusCode).toBe(200)
    expect(ingest.events().map(({ type }) => type)).toEqual(['identify', 'track', 'identify', 'track'])
  },
)

test.each(['/', '/v1', '/v1/delete', '/v1/tracks', '/v2/track', '/v1/track/x', '/v1/%zz', '/metrics'])(
  'POST %s is not_found',
  async (path) => {
    const answer = await post(fakeIngest(), path, call)
    expect(answer.statusCode).toBe(404)
    expect(answer.json().code).toBe('not_found')
  },
)

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const)(
  '%s on a path for calls is method_not_allowed',
  async (method) => {
    const answer = await fakeIngest().app.inject({ method, url: '/v1/track/?x=1' })
    expect(answer.statusCode).toBe(405)
    expect(answer.headers.allow).toBe('POST, OPTIONS')
    if (method !== 'HEAD') expect(answer.json().code).toBe('method_not_allowed')
  },
)

test('the probes show whether the process runs and is ready; metrics are not on the public port', async () => {
  const { app, state } = fakeIngest()
  expect(await app.inject('/livez')).toMatchObject({ statusCode: 200 })
  expect(await app.inject('/readyz')).toMatchObject({ statusCode: 200 })
  state.notReady = 'Kafka is away'
  expect(await app.inject('/livez')).toMatchObject({ statusCode: 200 })
  expect(await app.inject('/readyz')).toMatchObject({ statusCode: 503, body: 'Kafka is away\n' })
  expect(await app.inject('/metrics')).toMatchObject({ statusCode: 404 })
  expect((await app.inject({ method: 'POST', url: '/readyz' })).headers.allow).toBe('GET, HEAD, OPTIONS')
})

test('a preflight allows any origin, and the methods and headers of browser libraries, for a day', async () => {
  const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' }
  const answer = await fakeIngest().app.inject({ method: 'OPTIONS', url: '/v1/track', headers })
  expect(answer.statusCode).toBe(204)
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, POST, OPTIONS',
    'access-control-allow-headers': 'authorization, content-type, content-encoding, x-retry-count',
    'access-control-max-age': '86400',
  })
})

test.each([
  'application/json',
  'text/plain;charset=UTF-8',
  'application/x-www-form-urlencoded',
  'application/xml',
  'nonsense',
  '',
])('a body of type "%s" is read as JSON', async (type) => {
  const ingest = fakeIngest()
  expect((await post(ingest, '/v1/track', call, { 'content-type': type })).statusCode).toBe(200)
  expect(ingest.events()).toHaveLength(1)
})

test('a body without a Content-Type is read as JSON', async () => {
  const ingest = fakeIngest()
  const answer = await ingest.app.inject({
    method: 'POST',
    url: '/v1/track',
    payload: Buffer.from(JSON.stringify(call)),
    headers: { authorization: basic('shop-key') },
  })
  expect(answer.statusCode).toBe(200)
})

test('a write key may be in the body or in the query', async () => {
  const { app } = fakeIngest()
  const send = (url: string, body: object) =>
    app.inject({ method: 'POST', url, payload: JSON.stringify(body) })
  expect((await send('/v1/track', { ...call, writeKey: 'shop-key' })).statusCode).toBe(200)
  expect((await send('/v1/track?writeKey=shop-key', call)).statusCode).toBe(200)
  expect(
    (await send('/v1/batch', { batch: [{ type: 'track', ...call }], writeKey: 'shop-key' })).statusCode,
  ).toBe(200)
})
