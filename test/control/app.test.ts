import { describe, expect, test } from 'vitest'
import { ADMIN, type Asked, api, VIEW } from './api.ts'
import { crm, inMemory, shop } from './in-memory.ts'

const destination = { name: 'CRM', webhooks: [{ url: 'https://crm.example/hook' }] }

describe('who may', () => {
  test('nobody without a token, and the answer says how to ask', async () => {
    const { status, headers, json } = await api().ask({ url: '/api/sources', token: '' })
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toBe('Bearer realm="sluice"')
    expect(json).toEqual({ code: 'unauthorized', message: expect.any(String), errors: [] })
  })

  test('nobody with a wrong token; not even learn which paths there are', async () => {
    const { ask } = api()
    for (const url of ['/api/sources', '/api/nothing', '/api/sources/shop'])
      expect(await ask({ url, token: 'wrong' })).toMatchObject({
        status: 401,
        json: { code: 'unauthorized' },
      })
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('a view token never %ss', async (method) => {
    const { ask, topic } = api({ sources: [shop] })
    const url = method === 'POST' ? '/api/sources' : '/api/sources/shop'
    const asked = { method, url, body: { name: 'x' }, token: VIEW, headers: { 'if-match': '3' } }
    expect(await ask(asked)).toMatchObject({ status: 403, json: { code: 'read_only' } })
    expect(topic.size).toBe(0)
  })

  test('operators see health and metrics without a token', async () => {
    const { ask } = api()
    for (const url of ['/livez', '/readyz', '/metrics'])
      expect(await ask({ url, token: '' })).toMatchObject({ status: 200 })
  })
})

describe('one record', () => {
  test('a source from its name alone', async () => {
    const { ask } = api()
    const { status, headers, json } = await ask({
      method: 'POST',
      url: '/api/sources',
      body: { name: 'Shop' },
    })
    expect(status).toBe(201)
    expect(headers).toMatchObject({ etag: '"1"', location: `/api/sources/${json.id}` })
    expect(json).toEqual({
      id: expect.stringMatching(/^shop-[a-z0-9]+$/),
      name: 'Shop',
      writeKey: expect.stringMatching(/^[\w-]{32}$/),
      enabled: true,
      version: 1,
      updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(await ask({ url: `/api/sources/${json.id}` })).toMatchObject({
      status: 200,
      json,
      headers: { etag: '"1"' },
    })
  })

  test('is replaced at the version that was read, once', async () => {
    const { ask } = api({ sources: [shop] })
    const put = {
      method: 'PUT',
      url: '/api/sources/shop',
      body: { name: 'Shop 2' },
      headers: { 'if-match': '"3"' },
    }
    expect(await ask(put)).toMatchObject({
      status: 200,
      headers: { etag: '"4"' },
      json: { name: 'Shop 2', version: 4 },
    })
    const again = await ask(put)
    expect(again).toMatchObject({ status: 412, headers: { etag: '"4"' }, json: { code: 'version_mismatch' } })
    expect(again.json.message).toContain('version 4')
  })

  test('is not replaced by who does not say which version', async () => {
    const { ask, topic } = api({ sources: [shop] })
    const put = { method: 'PUT', url: '/api/sources/shop', body: { name: 'Shop 2' } }
    expect(await ask(put)).toMatchObject({ status: 428, json: { code: 'precondition_required' } })
    expect(await ask({ ...put, headers: { 'if-match': '*' } })).toMatchObject({ status: 400 })
    expect(topic.size).toBe(0)
  })

  test('is removed', async () => {
    const { ask, topic } = api({ destinations: [crm] })
    const url = '/api/destinations/crm'
    expect(await ask({ method: 'DELETE', url, headers: { 'if-match': '1' } })).toMatchObject({ status: 412 })
    // with a type and no body, as many clients send it
    const headers = { 'content-type': 'application/json' }
    expect(await ask({ method: 'DELETE', url, headers })).toMatchObject({ status: 204, text: '' })
    expect(topic.get('destination/crm')).toBeNull()
    expect(await ask({ url })).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })

  test('that another stands in the way of answers 409', async () => {
    const { ask } = api({ sources: [shop], destinations: [crm] })
    const taken = { method: 'POST', url: '/api/sources', body: { id: 'shop', name: 'Shop' } }
    expect(await ask(taken)).toMatchObject({
      status: 409,
      json: { code: 'id_taken', errors: [{ pointer: '/id' }] },
    })
    const key = { ...taken, body: { name: 'Blog', writeKey: shop.writeKey } }
    expect(await ask(key)).toMatchObject({ status: 409, json: { code: 'write_key_taken' } })
    const used = await ask({ method: 'DELETE', url: '/api/sources/shop' })
    expect(used).toMatchObject({ status: 409, json: { code: 'source_in_use' } })
    expect(used.json.message).toContain('crm')
  })

  test('with a conflict and another fault answers 400 with both', async () => {
    const body = { id: 'shop', name: '' }
    const { status, json } = await api({ sources: [shop] }).ask({ method: 'POST', url: '/api/sources', body })
    expect(status).toBe(400)
    expect(json).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/name' }, { pointer: '/id' }],
    })
  })
})

describe('many records', () => {
  const sources = ['c', 'a', 'b'].map((id) => ({ ...shop, id, writeKey: `key-of-${id}-123` }))
  const ids = (json: { items: { id: string }[] }) => json.items.map(({ id }) => id)

  test('none is an empty list', async () => {
    expect((await api().ask({ url: '/api/destinations' })).json).toEqual({ items: [], next: null })
  })

  test('come in pages, in the order of their ids', async () => {
    const { ask } = api({ sources })
    const first = (await ask({ url: '/api/sources?limit=2' })).json
    expect([ids(first), first.next]).toEqual([['a', 'b'], 'b'])
    const second = (await ask({ url: `/api/sources?limit=2&cursor=${first.next}` })).json
    expect([ids(second), second.next]).toEqual([['c'], null])
  })

  test('what cannot be asked for is told', async () => {
    const { status, json } = await api().ask({ url: '/api/sources?limit=5000&page=2' })
    expect(status).toBe(400)
    expect(json.errors).toMatchObject([
      { pointer: '/limit', code: 'too_big' },
      { pointer: '/page', code: 'unknown_field' },
    ])
  })
})

describe('what is no request of ours', () => {
  const post = { method: 'POST', url: '/api/sources' }
  const cases: [string, Asked, number, string][] = [
    ['no JSON', { ...post, body: '{"name"' }, 400, 'invalid_json'],
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

describe('secrets', () => {
  const body = {
    ...destination,
    id: 'crm',
    sharedSecret: 'secret-one',
    previousSecret: 'secret-two',
    webhooks: [{ url: 'https://crm.example/hook', headers: { 'X-Key': 'secret-three' } }],
  }

  test('are in no answer, no log line and not in the topic; a PUT of what was read keeps them', async () => {
    const { ask, lines, topic, settings } = api()
    const created = await ask({ method: 'POST', url: '/api/destinations', body })
    const read = await ask({ url: '/api/destinations/crm' })
    const put = { method: 'PUT', url: '/api/destinations/crm', body: read.json, headers: { 'if-match': '1' } }
    const answers = [created, read, await ask(put), await ask({ url: '/api/destinations' })]
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200])
    const seen = [...answers.map(({ text }) => text), ...lines, ...topic.values()].join('\n')
    expect(seen).not.toMatch(/secret-(one|two|three)/)
    expect(settings.destinations.get('crm')).toMatchObject({ ...body, version: 2 })
  })

  test('are not in the errors about them', async () => {
    const webhooks = [
      { url: 'https://user:secret-pass@crm.example', headers: { Host: 'secret-1', 'X-A': ' secret-2' } },
    ]
    const wrong = {
      ...body,
      webhooks,
      sharedSecret: `secret-3${'x'.repeat(600)}`,
      previousSecret: ['secret-4'],
    }
    const { ask, lines } = api()
    const { status, text } = await ask({ method: 'POST', url: '/api/destinations', body: wrong })
    expect(status).toBe(400)
    expect(text + lines.join()).not.toContain('secret-')
  })

  test('write keys are hidden from the view token, in lists and alone', async () => {
    const { ask } = api({ sources: [shop] })
    for (const url of ['/api/sources', '/api/sources/shop']) {
      expect((await ask({ url, token: VIEW })).text).not.toContain(shop.writeKey)
      expect((await ask({ url, token: ADMIN })).text).toContain(shop.writeKey)
    }
  })
})

describe('each write', () => {
  test('is one line of the log: who, what, and what came of it', async () => {
    const { ask, lines } = api()
    const post = { method: 'POST', url: '/api/sources', body: { id: 'shop', name: 'Shop' } }
    await ask(post)
    await ask(post)
    await ask({ url: '/api/sources' })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { who: 'admin', noun: 'source', id: 'shop', version: 1, outcome: 'written' },
      { who: 'admin', noun: 'source', outcome: 'faulty', codes: ['id_taken'] },
    ])
  })
})

describe('while something is missing', () => {
  test('Kafka: a write answers 503 and when to try again', async () => {
    const writer = { write: async () => ({ ok: false as const, unavailable: new Error('no broker') }) }
    const asked = { method: 'POST', url: '/api/sources', body: { name: 'Shop' } }
    const answer = await api({}, { writer }).ask(asked)
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '5' },
      json: { code: 'unavailable' },
    })
  })

  test('the settings: not ready, and nobody is told that something is not there', async () => {
    const { ask } = api({ sources: [shop] }, { probe: { notReady: () => 'loading' } })
    expect(await ask({ url: '/readyz', token: '' })).toMatchObject({ status: 503, text: 'loading\n' })
    expect(await ask({ url: '/livez', token: '' })).toMatchObject({ status: 200 })
    for (const url of ['/api/sources', '/api/sources/shop', '/api/sources/nope'])
      expect(await ask({ url })).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  })

  test('nothing but a fault of ours: 500 without its details, which are in the log', async () => {
    const settings = inMemory().settings
    Object.defineProperty(settings, 'sources', {
      get: () => {
        throw new Error('inner detail')
      },
    })
    const { ask, lines } = api({}, { settings })
    const { status, json, text } = await ask({ url: '/api/sources' })
    expect([status, json.code]).toEqual([500, 'internal'])
    expect(text).not.toContain('inner detail')
    expect(lines.join()).toContain('inner detail')
  })
})
