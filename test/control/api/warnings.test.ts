import { expect, test } from 'vitest'
import { api, VIEW } from '../api.ts'
import { crm, given, shop } from '../in-memory.ts'

const lost = {
  kind: 'destination',
  id: 'lost',
  reason: 'it is not a JSON object',
  since: 0,
  isKept: false,
} as const

test('there are normally no warnings', async () => {
  expect(await api().ask({ url: '/api/warnings', token: VIEW })).toMatchObject({
    status: 200,
    json: { items: [] },
  })
})

test('too little room in Kafka is a warning, with what is left, what is needed and what to do', async () => {
  const disk = { of: 'disk', free: 100 * 1024 ** 2, reserve: 2 * 1024 ** 3 } as const
  const of = async (shortage: Parameters<typeof api>[1]) =>
    (await api({}, shortage).ask({ url: '/api/warnings' })).json.items
  expect(await of({ storage: { shortage: () => disk } })).toMatchObject([
    {
      code: 'storage_full',
      message: expect.stringMatching(/disk .* 100 MB are left, 2048 MB are needed.*make room/),
      kind: null,
    },
  ])
  expect(await of({ storage: { shortage: () => ({ ...disk, of: 'limit' }) } })).toMatchObject([
    { message: expect.stringContaining('STORAGE_LIMIT') },
  ])
})

test('an unreadable setting is a warning until it is saved again or removed', async () => {
  const other = { ...lost, kind: 'source', id: 'app', isKept: true } as const
  const { ask, topic } = api({ sources: [shop], destinations: [crm], unreadable: [lost, other] })
  const warnings = async () => (await ask({ url: '/api/warnings' })).json.items
  expect(await warnings()).toMatchObject([
    {
      code: 'setting_unreadable',
      kind: 'destination',
      id: 'lost',
      isKept: false,
      since: '1970-01-01T00:00:00.000Z',
    },
    { code: 'setting_unreadable', kind: 'source', id: 'app', isKept: true },
  ])
  expect((await ask({ method: 'DELETE', url: '/api/sources/app' })).status).toBe(204)
  expect(topic.get('source/app')).toBeNull()
  const body = { ...given, id: 'lost' }
  expect((await ask({ method: 'POST', url: '/api/destinations', body })).status).toBe(201)
  expect(await warnings()).toEqual([])
})

test('an unreadable setting differs from a missing one, and others may refer to it', async () => {
  const app = { ...lost, kind: 'source', id: 'app' } as const
  const { ask } = api({ sources: [shop], unreadable: [lost, app] })
  for (const asked of [{}, { method: 'PUT', headers: { 'if-match': '"1"' }, body: given }])
    expect(await ask({ url: '/api/destinations/lost', ...asked })).toMatchObject({
      status: 409,
      json: { code: 'setting_unreadable', message: expect.stringContaining('it is not a JSON object') },
    })
  expect((await ask({ url: '/api/destinations/nope' })).status).toBe(404)
  const body = { ...given, sourceIds: ['shop', 'app'] }
  expect((await ask({ method: 'POST', url: '/api/destinations', body })).status).toBe(201)
})
