import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { faultsOf } from '../../../settings/faults.ts'
import { aPoisonedName } from '../../helpers/poison.ts'
import { ADMIN, type Asked, api } from '../api.ts'
import { head, listen } from '../wire.ts'

describe('invalid requests', () => {
  const post = { method: 'POST', url: '/api/sources' }
  const cases: [string, Asked, number, string][] = [
    ['no JSON', { ...post, body: '{"name"' }, 400, 'invalid_json'],
    ['JSON in Latin-1', { ...post, body: Buffer.from('{"name":"Caf\xe9"}', 'latin1') }, 400, 'invalid_json'],
    [
      'JSON that would poison a prototype',
      { ...post, body: '{"name":"x","__proto__":{}}' },
      400,
      'invalid_json',
    ],
    [
      'another type',
      { ...post, body: 'name=x', headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    ['more than 1 MB', { ...post, body: { name: 'x'.repeat(1024 * 1024) } }, 413, 'body_too_large'],
    ['nothing', post, 400, 'validation_failed'],
    ['another path', { url: '/api/nothing' }, 404, 'not_found'],
    ['another path outside of the API', { url: '/nothing', token: '' }, 404, 'not_found'],
    ['a path that cannot be decoded', { url: '/api/sources/%ff' }, 400, 'invalid_path'],
    ['an id longer than any', { url: `/api/sources/${'x'.repeat(300)}` }, 404, 'not_found'],
  ]
  test('the refusal of JSON that would poison a prototype names the members', async () => {
    const { json } = await api().ask({ ...post, body: '{"name":"x","__proto__":{}}' })
    expect(json).toMatchObject({ message: expect.stringContaining('without members named __proto__') })
  })

  test.each(cases)('%s', async (_, asked, status, code) => {
    const answer = await api().ask(asked)
    expect(answer).toMatchObject({
      status,
      json: { code, message: expect.any(String), errors: expect.any(Array) },
    })
  })

  test.each([
    ['PATCH', '/api/sources', 'GET, HEAD, POST'],
    ['DELETE', '/api/sources', 'GET, HEAD, POST'],
    ['POST', '/api/sources/shop', 'GET, HEAD, PUT, DELETE'],
  ])('%s %s', async (method, url, allow) => {
    const answer = await api().ask({
      method,
      url,
      body: 'whatever',
      headers: { 'content-type': 'text/html' },
    })
    expect(answer).toMatchObject({ status: 405, headers: { allow }, json: { code: 'method_not_allowed' } })
  })
})

test.each(['/api/sources', '/api/nothing', '/nothing', '/livez', '/metrics'])(
  'browsers do not guess the type of %s',
  async (url) => {
    const { headers } = await api().ask({ url })
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff' })
  },
)

test.each([
  ['application/json; charset=utf-8', 'application/json; charset=utf-8'],
  [`application/json${';ab=b'.repeat(3_000)}`, 'application/json'],
])('of a long Content-Type, only the type is read: %.40s', async (sent, read) => {
  const { app, ask } = api()
  let seen: string | undefined
  app.addHook('preHandler', ({ headers }, _reply, done) => {
    seen = headers['content-type']
    done()
  })
  const body = { name: 'Shop' }
  const headers = { 'content-type': sent }
  expect(await ask({ method: 'POST', url: '/api/sources', body, headers })).toMatchObject({ status: 201 })
  expect(seen).toBe(read)
})

test('only the unknown fields that are listed are compared with known ones', async () => {
  const body = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`nam${index}`, 1]))
  const { status, json } = await api().ask({ method: 'POST', url: '/api/sources', body })
  expect([status, json.message, json.errors.length]).toEqual([
    400,
    '151 errors in the request: errors lists the first 100',
    100,
  ])
  const { error } = z.strictObject({ name: z.string().optional() }).safeParse(body)
  const faults = error ? faultsOf(error, z.strictObject({ name: z.string() })) : []
  expect(faults.filter(({ message }) => message.includes('use name'))).toHaveLength(100)
  expect(faults.at(-1)).toEqual({ pointer: '/nam149', code: 'unknown_field', message: 'unknown field' })
})

describe('a query', () => {
  const faults = async (query: string) => {
    const { status, json } = await api().ask({ url: `/api/sources${query}` })
    expect(status).toBe(400)
    return json.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`)
  }

  test('is checked, however it is spelled', async () => {
    expect(await faults('?limt=1&1023=&a+b=&%e4%B8%AD')).toEqual([
      '/1023 unknown_field',
      '/limt unknown_field',
      '/a b unknown_field',
      '/中 unknown_field',
    ])
    expect(await faults('?limit=1&limit=1')).toEqual(['/limit invalid_type'])
    expect(await faults(`?${'a'.repeat(15_000)}=1`)).toEqual([`/${'a'.repeat(15_000)} unknown_field`])
    for (const query of ['', '?', '?limit=2', '?%6Cimit=%32&', '?&limit=2'])
      expect((await api().ask({ url: `/api/sources${query}` })).status).toBe(200)
    const open = await listen(api().app)
    const headers = { Authorization: `Bearer ${ADMIN}`, Connection: 'close' }
    for (const url of ['/api/sources#limit=0', 'http://x/api/sources?limit=0'])
      expect(await text(open(head(`GET ${url} HTTP/1.1`, headers)))).toMatch(
        /^HTTP.1.1 400 [\s\S]*"too_small"/,
      )
  })

  test('has at most 100 parameters', async () => {
    expect(await faults(`?${'a&'.repeat(99)}`)).toEqual(['/a unknown_field'])
    expect(await faults(`?${'a&'.repeat(100)}`)).toEqual([' too_many'])
    expect(await faults(`?${'&'.repeat(100)}limit=1`)).toEqual([' too_many'])
  })

  test.each([
    ['GET', '/livez', 200],
    ['GET', '/', 503],
    ['GET', '/nothing', 404],
    ['GET', '/%ff', 400],
    ['GET', '/docs/nothing', 404],
    ['GET', '/api/sources', 400],
    ['GET', '/api/nothing', 404],
    ['PUT', '/api/sources', 405],
  ])('is not read by another parser, which has no limits: %s %s', async (method, path, status) => {
    const { app, ask } = api({}, { built: '/nowhere', builtDocs: '/nowhere' })
    await app.ready()
    const require = createRequire(import.meta.resolve('find-my-way'))
    const parsed = vi.spyOn(require('fast-querystring'), 'parse')
    onTestFinished(() => parsed.mockRestore())
    expect((await ask({ method, url: `${path}?a=1` })).status).toBe(status)
    expect(parsed).not.toHaveBeenCalled()
  })
})

test('members of a body keep their names, whatever names earlier bodies had', async () => {
  const labels = `{"${aPoisonedName()}":"1","\\"":"2"}`
  const { ask } = api()
  const body = `{"id":"shop","name":"Shop","labels":${labels}}`
  const { status, text } = await ask({ method: 'POST', url: '/api/sources', body })
  expect(status).toBe(201)
  expect(text).toContain(labels)
})

describe('a body that no request needs', () => {
  const nested = (levels: number) => `{"name":"a","labels":${'['.repeat(levels)}${']'.repeat(levels)}}`
  const paths = ['sources', 'destinations', 'deletions', 'replays', 'suppressions', 'audiences']

  test.each(paths)('is refused when it nests too deep: POST %s', async (path) => {
    const { ask } = api()
    const deep = await ask({ method: 'POST', url: `/api/${path}`, body: nested(32) })
    expect(deep).toMatchObject({ status: 400, json: { code: 'too_deep' } })
    const within = await ask({ method: 'POST', url: `/api/${path}`, body: nested(31) })
    expect(within).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
  })

  test('is refused when a name in it is too long', async () => {
    const body = (length: number) => JSON.stringify({ ['x'.repeat(length)]: 1 })
    const ask = (length: number) => api().ask({ method: 'POST', url: '/api/sources', body: body(length) })
    expect(await ask(10_001)).toMatchObject({ status: 400, json: { code: 'name_too_long' } })
    expect(await ask(10_000)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
  })

  const labels = (count: number, value: unknown = 'x') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, value]))

  test.each([
    [64, 'x', 201, undefined],
    [65, 'x', 400, 'at most 64 labels; there are 65'],
    [60_000, 'x', 400, 'has too many members: at most 1,000'],
    [60_000, 5, 400, 'has too many members: at most 1,000'],
  ])('is refused with too many labels: %d of %j', async (count, value, status, message) => {
    const { ask } = api()
    const answer = await ask({
      method: 'POST',
      url: '/api/sources',
      body: { name: 'a', labels: labels(count, value) },
    })
    expect(answer.status).toBe(status)
    if (message) expect(answer.json.errors).toEqual([{ pointer: '/labels', code: 'too_many', message }])
  })

  test('reports its first hundred faults, and their number', async () => {
    const { ask } = api()
    const body = { name: 'a', labels: labels(1_000, 5) }
    const { json } = await ask({ method: 'POST', url: '/api/sources', body })
    expect(json.errors).toHaveLength(100)
    expect(json.message).toContain('1001 errors in the request: errors lists the first 100')
  })
})
