import { describe, expect, test, vi } from 'vitest'
import { partitionOf } from '../../../kafka/produce/partition.ts'
import type { Sync } from '../../../schemas/task.ts'
import type { Source } from '../../../settings/settings.ts'
import { ADMIN, api, VIEW } from '../api.ts'
import { inMemory, now, shop } from '../in-memory.ts'

const other = { ...shop, id: 'app', writeKey: 'app-write-key' }
const ops: Source = { ...shop, id: 'ops', writeKey: 'ops-write-key', kind: 'notices' }
const records = { sources: [shop, other, ops] }
const body = { name: 'High Value Users (EU)', sourceId: 'shop' }

describe.each(['audience', 'trait'] as const)('an %s', (kind) => {
  const url = `/api/${kind}s`
  const post = (given: object) => ({ method: 'POST', url, body: given })

  test('gets its key from its name, and keeps it when renamed', async () => {
    const { ask } = api(records)
    const { status, json } = await ask(post(body))
    expect(status).toBe(201)
    expect(json).toEqual({
      ...body,
      id: expect.stringMatching(/^high-value-users-eu-[0-9a-f]{10}$/),
      key: 'high_value_users_eu',
      createdAt: json.updatedAt,
      lastSyncAt: null,
      version: 1,
      updatedAt: expect.stringMatching(/Z$/),
    })
    const renamed = { ...json, name: 'VIPs' }
    const put = { method: 'PUT', url: `${url}/${json.id}`, headers: { 'if-match': '1' }, body: renamed }
    expect(await ask(put)).toMatchObject({
      status: 200,
      json: { name: 'VIPs', key: 'high_value_users_eu', createdAt: json.createdAt, version: 2 },
    })
    expect((await ask({ url, token: VIEW })).json.items).toHaveLength(1)
  })

  test.each<[string, object, string[]]>([
    ['nothing', {}, ['/name required', '/sourceId required']],
    ['a name without letter or digit', { ...body, name: '!?' }, ['/name no_key']],
    ['an unknown source', { ...body, sourceId: 'nope' }, ['/sourceId unknown_source']],
    ['a source of notices', { ...body, sourceId: 'ops' }, ['/sourceId notices_only']],
    ['a key of its own', { ...body, key: 'vip' }, ['/key unknown_field']],
  ])('of %s is refused', async (_, given, expected) => {
    const { status, json } = await api(records).ask(post(given))
    expect(status).toBe(400)
    expect(
      json.errors.map((each: { pointer: string; code: string }) => `${each.pointer} ${each.code}`),
    ).toEqual(expected)
  })

  test('cannot have the key of another audience or trait of the source', async () => {
    const { ask } = api(records)
    await ask({ method: 'POST', url: '/api/audiences', body: { ...body, name: 'highValue usersEU' } })
    expect(await ask(post({ ...body, name: 'High value users (EU)' }))).toMatchObject({
      status: 409,
      json: { code: 'key_taken' },
    })
    expect((await ask(post({ ...body, sourceId: 'app' }))).status).toBe(201)
  })

  test('cannot change its source, which cannot be removed or become one of notices', async () => {
    const { ask } = api(records)
    const { json } = await ask(post({ ...body, id: 'mine' }))
    const put = { method: 'PUT', url: `${url}/mine`, headers: { 'if-match': '1' } }
    expect(await ask({ ...put, body: { ...json, sourceId: 'app' } })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '/sourceId', code: 'source_fixed' }] },
    })
    expect(await ask({ method: 'DELETE', url: '/api/sources/shop' })).toMatchObject({
      status: 409,
      json: { code: 'source_in_use', message: expect.stringContaining('mine') },
    })
    const source = { url: '/api/sources/shop', headers: { 'if-match': String(shop.version) } }
    expect(await ask({ ...source, method: 'PUT', body: { name: 'Shop', kind: 'notices' } })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '/kind', code: 'notices_only' }] },
    })
  })

  test('that is removed has its stored users deleted', async () => {
    const { ask, tasks } = api(records)
    await ask(post({ ...body, id: 'mine' }))
    expect((await ask({ method: 'DELETE', url: `${url}/mine` })).status).toBe(204)
    expect(tasks).toMatchObject([{ kind: 'sync', of: { kind, id: 'mine' }, others: 'forgotten', lines: 0 }])
  })
})

describe('an upload', () => {
  const audience = { method: 'POST', url: '/api/audiences', body: { ...body, id: 'vip' } }
  const members = { method: 'PUT', url: '/api/audiences/vip/members', body: 'u1\n' }
  const plain = { 'content-type': 'text/plain' }

  test.each<[string, object, number, string]>([
    [
      'to none that there is',
      { ...members, url: '/api/audiences/nope/members', headers: plain },
      404,
      'not_found',
    ],
    ['as a JSON document', { ...members, body: ['u1'] }, 415, 'unsupported_media_type'],
    [
      'as lines that claim to be JSON',
      { ...members, body: 'u1\nu2', headers: { 'content-type': 'application/json' } },
      415,
      'unsupported_media_type',
    ],
    ...['application/csv', 'application/x-www-form-urlencoded'].map(
      (type): [string, object, number, string] => [
        `as ${type}`,
        { ...members, headers: { 'content-type': type } },
        415,
        'unsupported_media_type',
      ],
    ),
    [
      'in another encoding',
      { ...members, headers: { ...plain, 'content-encoding': 'br' } },
      415,
      'unsupported_encoding',
    ],
    [
      'with another parameter',
      { ...members, url: `${members.url}?empty=1`, headers: plain },
      400,
      'validation_failed',
    ],
    ['by who may only read', { ...members, headers: plain, token: VIEW }, 403, 'read_only'],
    ['with POST', { ...members, method: 'POST', headers: plain }, 405, 'method_not_allowed'],
    [
      'of a change that says both',
      { ...members, method: 'PATCH', body: { add: ['u1', 'u2'], remove: ['u2'] } },
      400,
      'validation_failed',
    ],
    [
      'of values to no trait',
      { ...members, url: '/api/traits/vip/values', headers: plain },
      404,
      'not_found',
    ],
  ])('%s is refused', async (_, asked, status, code) => {
    const { ask, tasks } = api(records)
    await ask(audience)
    expect(await ask(asked as never)).toMatchObject({ status, json: { code } })
    expect(tasks).toEqual([])
  })

  test('to a resource that another instance has just created is accepted', async () => {
    const memory = inMemory(records)
    const vip = {
      ...body,
      id: 'vip',
      key: 'vip',
      createdAt: now,
      lastSyncAt: null,
      version: 1,
      updatedAt: now,
    }
    const table = { caughtUp: async () => void memory.settings.audiences.set('vip', vip) }
    const { ask } = api({}, { ...memory, settings: { ...memory.settings, table } })
    // then the body turns out not to list members
    expect(await ask({ ...members, body: ['u1'] })).toMatchObject({ status: 415 })
  })

  test("is not accepted while another instance's writes are unknown", async () => {
    const memory = inMemory(records)
    const table = { caughtUp: () => Promise.reject(new Error('no broker')) }
    const { ask } = api({}, { ...memory, settings: { ...memory.settings, table } })
    expect(await ask({ ...members, headers: plain })).toMatchObject({
      status: 503,
      json: { message: expect.stringContaining('Nothing has changed') },
    })
  })

  test('without a Content-Type is read as plain text', async () => {
    const bounds = async () => new Map([[0, { low: 0, high: 1 }]])
    const { app, ask, tasks } = api(records, {
      readerOf: async () => ({ partitions: 1, bounds }) as never,
      producer: { produce: async () => 'acked' },
    })
    await ask(audience)
    const headers = { authorization: `Bearer ${ADMIN}`, prefer: 'respond-async, wait=0' }
    const { statusCode } = await app.inject({
      method: 'PUT',
      url: members.url,
      headers,
      payload: members.body,
    })
    expect([statusCode, tasks]).toMatchObject([202, [{ kind: 'sync', lines: 1 }]])
  })

  test('has a salt that the API does not show', async () => {
    const bounds = async () => new Map([[0, { low: 0, high: 1 }]])
    const { ask, tasks } = api(records, {
      readerOf: async () => ({ partitions: 1, bounds }) as never,
      producer: { produce: async () => 'acked' },
    })
    await ask(audience)
    const headers = { ...plain, prefer: 'respond-async, wait=0' }
    const { status, json } = await ask({ ...members, headers })
    expect([status, tasks.length]).toEqual([202, 1])
    const { salt } = tasks[0] as Sync
    expect(salt).toMatch(/^[\da-f-]{36}$/)
    for (const url of ['/api/syncs', `/api/syncs/${json.id}`]) {
      const { text } = await ask({ url, token: VIEW })
      expect(text).toContain(json.id)
      expect(text).not.toContain(salt)
    }
  })

  describe('in a dry run', () => {
    type Bounds = Map<number, { low: number; high: number }>
    const stored: Bounds = new Map([0, 1].map((partition) => [partition, { low: 0, high: 1 }]))

    const produce = vi.fn(async () => 'acked' as const)

    async function previewed(bounds: () => Promise<Bounds>, partitions = stored.size) {
      produce.mockClear()
      const key = Buffer.from('vip/u0')
      const wrong = 1 - partitionOf(key, stored.size)
      const read = async ({ partition }: { partition: number }, onValue: (...given: unknown[]) => void) => {
        if (partition === wrong) onValue(Buffer.from('{}'), 0, { key })
      }
      const reader = { partitions, bounds, read }
      const { ask } = api(records, {
        readerOf: async () => reader as never,
        producer: { produce },
      })
      await ask(audience)
      return ask({ ...members, url: `${members.url}?dryRun=true`, headers: plain })
    }

    test('is refused like the upload if partitions were added', async () => {
      expect(await previewed(async () => stored)).toMatchObject({
        status: 409,
        json: { code: 'partitions_changed' },
      })
    })

    test('is refused before anything is written if they were added while control ran', async () => {
      const { status, json } = await previewed(async () => stored, 1)
      expect([status, json.code, produce.mock.calls]).toEqual([409, 'partitions_changed', []])
    })

    test.each([1, 2, 3, 4])('has changed nothing if Kafka fails after %d answers', async (answers) => {
      const bounds = async () => (answers-- > 0 ? stored : Promise.reject(new Error('no broker')))
      expect(await previewed(bounds)).toMatchObject({
        status: 503,
        json: { message: expect.stringContaining('Nothing has changed') },
      })
    })
  })

  test('that does not exist gets 404', async () => {
    expect(await api(records).ask({ url: '/api/syncs/nope' })).toMatchObject({ status: 404 })
  })
})
