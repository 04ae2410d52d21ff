import { describe, expect, test } from 'vitest'
import { api } from '../api.ts'
import { crm, inMemory, shop } from '../in-memory.ts'

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

  test('is replaced once at the version that was read', async () => {
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

  test('is not replaced without a version', async () => {
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
    // many clients send a type without a body
    const headers = { 'content-type': 'application/json' }
    expect(await ask({ method: 'DELETE', url, headers })).toMatchObject({ status: 204, text: '' })
    expect(topic.get('destination/crm')).toBeNull()
    expect(await ask({ url })).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })

  test('that is created again after its removal is not replaced by an edit of the removed one', async () => {
    const { ask } = api({ lastVersions: new Map([['source/shop', 1]]) })
    const made = await ask({ method: 'POST', url: '/api/sources', body: { id: 'shop', name: 'Shop' } })
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"2"', location: '/api/sources/shop' },
      json: { version: 2 },
    })
    const headers = { 'if-match': '"1"' }
    const edit = { method: 'PUT', url: '/api/sources/shop', body: { name: 'Old' }, headers }
    expect(await ask(edit)).toMatchObject({ status: 412, headers: { etag: '"2"' } })
  })

  test('that conflicts with another gets 409', async () => {
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

  test('takes into account what another instance has just written', async () => {
    const { settings, writer } = inMemory()
    const table = { caughtUp: async () => void settings.sources.set('shop', shop) }
    const { ask } = api({}, { settings: { ...settings, table }, writer })
    const body = { name: 'CRM', sourceIds: ['shop'], webhooks: [{ url: 'https://crm.example/hook' }] }
    expect(await ask({ method: 'POST', url: '/api/destinations', body })).toMatchObject({ status: 201 })
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

  test('invalid queries are reported', async () => {
    const { status, json } = await api().ask({ url: '/api/sources?limit=5000&page=2' })
    expect(status).toBe(400)
    expect(json.errors).toMatchObject([
      { pointer: '/limit', code: 'too_big' },
      { pointer: '/page', code: 'unknown_field' },
    ])
  })
})
