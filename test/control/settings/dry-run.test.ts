import { describe, expect, test } from 'vitest'
import { api, VIEW } from '../api.ts'
import { crm, given, inMemory, now, shop } from '../in-memory.ts'

const vips = { id: 'vips', name: 'VIPs', sourceId: 'shop', key: 'vips' }
const stamps = { version: 1, updatedAt: now, createdAt: now, lastSyncAt: null }
const records = () => ({ sources: [shop], destinations: [crm], audiences: [{ ...vips, ...stamps }] })

/** Also checks that nothing changed. */
async function dry(
  asked: { method: string; path: string; body?: object; version?: number; token?: string },
  parts?: Parameters<typeof api>[1],
) {
  const { ask, topic, lines } = api(records(), parts)
  const { method, path, body, version, token } = asked
  const answer = await ask({
    method,
    url: `/api/${path}?dryRun=true`,
    body,
    ...(token !== undefined && { token }),
    ...(version !== undefined && { headers: { 'if-match': String(version) } }),
  })
  expect(topic.size).toBe(0)
  expect(lines.filter((line) => line.includes('"audit"'))).toEqual([])
  return answer
}

const put = (body: object, more: object = {}) =>
  dry({ method: 'PUT', path: 'destinations/crm', body, version: 2, ...more })

describe('a dry run', () => {
  test('of a new record returns it as it would be, with all its fields as changed', async () => {
    const body = { ...given, id: 'new', sharedSecret: 'hidden', sourceIds: ['shop'] }
    const { status, headers, json, text } = await dry({ method: 'POST', path: 'destinations', body })
    expect([status, headers.location, headers.etag]).toEqual([200, undefined, undefined])
    expect(json).toMatchObject({ id: 'new', version: 1, enabled: true, sharedSecret: '***' })
    expect(json.changed.sort()).toEqual(
      ['/enabled', '/name', '/sharedSecret', '/sourceIds', '/type', '/webhooks/0/url'].sort(),
    )
    expect(text).not.toContain('hidden')
  })

  test('of a replacement with the current values, in clear or masked, shows no changes', async () => {
    for (const secret of ['shared-secret', '***'])
      expect(await put({ ...crm, sharedSecret: secret })).toMatchObject({
        status: 200,
        headers: { etag: '"2"' },
        json: { id: 'crm', version: 3, sharedSecret: '***', changed: [] },
      })
  })

  test('shows that a secret or header value would change, but never the value', async () => {
    const [webhook] = crm.webhooks
    const webhooks = [{ ...webhook, headers: { 'X-Team': 'hidden-1' } }]
    const { json, text } = await put({ ...crm, webhooks, sharedSecret: 'hidden-2' })
    expect(json.changed).toEqual(['/webhooks/0/headers/X-Team', '/sharedSecret'])
    expect(text).not.toMatch(/hidden|secret"?:"(?!\*)/)
  })

  test('shows that a rotation would start', async () => {
    const rotating = { ...crm, sharedSecret: 'new', previousSecretExpiresAt: '2126-02-01T00:00:00Z' }
    expect((await put(rotating)).json.changed).toEqual([
      '/sharedSecret',
      '/previousSecretExpiresAt',
      '/previousSecret',
    ])
  })

  test.each([
    ['another version', { version: 1 }, crm, 412, 'version_mismatch'],
    ['no version', { version: undefined }, crm, 428, 'precondition_required'],
    ['a missing record', { path: 'destinations/none' }, crm, 404, 'not_found'],
    ['an unknown source', {}, { ...crm, sourceIds: ['none'] }, 400, 'validation_failed'],
    ['a taken id', { method: 'POST', path: 'destinations' }, { ...given, id: 'crm' }, 409, 'id_taken'],
    [
      'the removal of a record in use',
      { method: 'DELETE', path: 'sources/shop' },
      undefined,
      409,
      'source_in_use',
    ],
    ['the view token', { token: VIEW }, crm, 403, 'read_only'],
  ] as [string, Partial<Parameters<typeof dry>[0]>, object | undefined, number, string][])(
    'of %s is refused as the write would be',
    async (_, more, body, status, code) => {
      const asked = { method: 'PUT', path: 'destinations/crm', version: 2, ...(body && { body }), ...more }
      if (asked.method === 'DELETE') asked.version = 3
      expect(await dry(asked)).toMatchObject({ status, json: { code } })
    },
  )

  test('checks the addresses of URLs', async () => {
    const egress = { faultOf: async () => 'leads to an address that is not public' }
    const { status, json } = await dry(
      { method: 'PUT', path: 'destinations/crm', body: crm, version: 2 },
      { egress },
    )
    expect([status, json.errors]).toMatchObject([400, [{ code: 'address_forbidden' }]])
  })

  test('of a possible removal gets 204', async () => {
    expect(await dry({ method: 'DELETE', path: 'destinations/crm' })).toMatchObject({ status: 204, text: '' })
  })

  test('exists for every kind', async () => {
    const created = [
      ['sources', { name: 'Blog' }],
      ['audiences', { name: 'Loyal', sourceId: 'shop' }],
      ['traits', { name: 'LTV', sourceId: 'shop' }],
      ['suppressions', { sourceId: 'shop', userId: 'u1' }],
    ] as const
    for (const [path, body] of created) {
      const { status, json } = await dry({ method: 'POST', path, body })
      expect([path, status]).toEqual([path, 200])
      expect(json.changed.length).toBeGreaterThan(0)
    }
    const body = { name: 'Very important', sourceId: 'shop' }
    expect((await dry({ method: 'PUT', path: 'audiences/vips', body, version: 1 })).json.changed).toEqual([
      '/name',
    ])
  })

  test('does not fence out another writer', async () => {
    const writer = { write: () => expect.fail('nothing was to be written') }
    expect(await dry({ method: 'POST', path: 'sources', body: { name: 'Blog' } }, { writer })).toMatchObject({
      status: 200,
    })
  })

  test('is unavailable while Kafka does not answer, without mentioning a write', async () => {
    const { settings } = inMemory()
    const table = { caughtUp: () => Promise.reject(new Error('no broker')) }
    const { status, json } = await dry(
      { method: 'POST', path: 'sources', body: { name: 'Blog' } },
      { settings: { ...settings, table } },
    )
    expect([status, json.code]).toEqual([503, 'unavailable'])
    expect(json.message).not.toContain('wrote')
  })
})

test('only dryRun=true is a dry run: dryRun=false writes, and anything else is refused', async () => {
  const { ask, topic } = api()
  const post = (dryRun: string) =>
    ask({ method: 'POST', url: `/api/sources?dryRun=${dryRun}`, body: { id: 'a', name: 'A' } })
  expect((await post('yes')).status).toBe(400)
  expect(topic.size).toBe(0)
  expect((await post('false')).status).toBe(201)
  expect([...topic.keys()]).toEqual(['source/a'])
})
