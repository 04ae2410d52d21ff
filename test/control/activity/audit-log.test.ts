import { expect, test } from 'vitest'
import type { AuditRouteParts } from '../../../control/activity/audit-log.ts'
import { AUDIT } from '../../../schemas/topics.ts'
import { api, VIEW } from '../api.ts'

const START = Date.parse('2026-01-02T03:04:05.000Z')
const by = { who: 'admin', by: 'bearer', address: '203.0.113.9' }
const change = (id: string, more: object = {}) =>
  JSON.stringify({ at: 'when', ...by, what: 'source', outcome: 'created', id, version: 1, ...more })

/** A record a minute. `aheadMs`: by record, how far its writer's clock was ahead. */
function audited(values: readonly (string | null)[], aheadMs: readonly number[] = []) {
  const time = (offset: number) => START + offset * 60_000 + (aheadMs[offset] ?? 0)
  const readerOf: AuditRouteParts['readerOf'] = async (topic) => ({
    async read({ from, to }, onValue) {
      expect(topic).toBe(AUDIT)
      for (const [index, value] of values.slice(from, to).entries())
        onValue(value === null ? null : Buffer.from(value), from + index, {
          key: null,
          timestamp: time(from + index),
        })
    },
  })
  const openOffsets: AuditRouteParts['openOffsets'] = async () => ({
    bounds: async () => [{ partition: 0, low: 0, end: values.length }],
    at: async (_, at) => {
      const offset = values.findIndex((_, index) => time(index) >= at)
      return [{ partition: 0, offset: offset < 0 ? values.length : offset }]
    },
    close: async () => undefined,
  })
  const { ask } = api({}, { readerOf: readerOf as never, openOffsets })
  return async (query = '', token?: string) => {
    const { status, json } = await ask({ url: `/api/audit?${query}`, ...(token && { token }) })
    expect(status).toBe(200)
    return { ...json, ids: json.items.map(({ id }: { id: string | null }) => id) }
  }
}

test('entries are found newest first, page by page, with the view token too', async () => {
  const read = audited(['a', 'b', 'c', 'd', 'e'].map((id) => change(id)))
  const first = await read('limit=2', VIEW)
  expect(first.ids).toEqual(['e', 'd'])
  const second = await read(`limit=2&cursor=${first.next}`)
  expect(second.ids).toEqual(['c', 'b'])
  expect(await read(`limit=2&cursor=${second.next}`)).toMatchObject({ ids: ['a'], next: null })
})

test('a record of another program that is nested too deeply to be printed is left out', async () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const read = audited([change('a'), change('b').replace('"version":1', `"changes":{"/a":${deep}}`)])
  expect((await read()).ids).toEqual(['a'])
})

test('an entry says who changed what, from where, and everything else', async () => {
  const changes = { '/name': { from: 'A', to: 'B' }, '/writeKey': 'changed' }
  const read = audited([
    change('a', { changes, session: 's1', person: 'ann', later: [1] }),
    change('b', { id: undefined }),
  ])
  expect((await read()).items).toEqual([
    {
      at: 'when',
      ...by,
      person: null,
      what: 'source',
      outcome: 'created',
      id: null,
      version: 1,
      session: null,
      changes: {},
      details: {},
    },
    {
      at: 'when',
      ...{ ...by, person: 'ann', what: 'source', outcome: 'created', id: 'a', version: 1, session: 's1' },
      changes,
      details: { later: [1] },
    },
  ])
})

test('entries are filtered by kind, id, role, person and time', async () => {
  const read = audited([
    change('a'),
    change('b', { what: 'destination' }),
    change('c', { who: 'view' }),
    change('a', { version: 2, person: 'ann@example.com' }),
  ])
  expect((await read('person=Ann@example.com')).ids).toEqual(['a'])
  expect((await read('what=destination')).ids).toEqual(['b'])
  expect((await read('id=a')).ids).toEqual(['a', 'a'])
  expect((await read('who=view')).ids).toEqual(['c'])
  const since = new Date(START + 60_000).toISOString()
  const until = new Date(START + 180_000).toISOString()
  expect((await read(`since=${since}&until=${until}`)).ids).toEqual(['c', 'b'])
})

test('a record from a clock that was ahead hides no later ones, and counts with its own time', async () => {
  const hour = 3_600_000
  const read = audited(
    ['a', 'b', 'c', 'd', 'e'].map((id) => change(id)),
    [0, hour],
  )
  const time = (minutes: number) => new Date(START + minutes * 60_000).toISOString()
  expect((await read(`until=${time(4)}`)).ids).toEqual(['d', 'c', 'a'])
  expect((await read(`since=${time(4)}`)).ids).toEqual(['e', 'b'])
  const first = await read(`since=${time(2)}&until=${time(4)}&limit=1`)
  const second = await read(`since=${time(2)}&until=${time(4)}&limit=1&cursor=${first.next}`)
  expect([first.ids, second.ids, second.next]).toEqual([['d'], ['c'], null])
})

test('records that are no entries are skipped', async () => {
  const read = audited([change('a'), null, 'no JSON', '{"at": 5}', '[]', change('b')])
  expect((await read()).ids).toEqual(['b', 'a'])
})

test('while Kafka does not answer, the request gets an error that says so', async () => {
  const { ask } = api({}, { readerOf: () => Promise.reject(new Error('no broker')) })
  expect(await ask({ url: '/api/audit' })).toMatchObject({ status: 503, json: { code: 'unavailable' } })
})

test('one search too many gets 429', async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  const readerOf: AuditRouteParts['readerOf'] = async () => ({ read: () => promise })
  const { ask } = api({}, { readerOf: readerOf as never, openOffsets: () => promise })
  const all = Array.from({ length: 5 }, () => ask({ url: '/api/audit' }))
  expect(await Promise.race(all)).toMatchObject({ status: 429, json: { code: 'too_many_searches' } })
  reject(new Error('no broker'))
  const statuses = (await Promise.all(all)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([429, 503, 503, 503, 503])
})

test('three searches with the view token leave a place for an administrator', async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  const readerOf: AuditRouteParts['readerOf'] = async () => ({ read: () => promise })
  const { ask } = api({}, { readerOf: readerOf as never, openOffsets: () => promise })
  const all = Array.from({ length: 4 }, () => ask({ url: '/api/audit', token: VIEW }))
  expect((await Promise.race(all)).status).toBe(429)
  const admin = ask({ url: '/api/audit' })
  reject(new Error('no broker'))
  expect((await admin).status).toBe(503)
})
