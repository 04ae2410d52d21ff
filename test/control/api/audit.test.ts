import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createSessions } from '../../../control/api/auth/sessions.ts'
import { createTokenLimits } from '../../../control/api/auth/tokens.ts'
import { changesOf } from '../../../control/settings/changes.ts'
import type { Producer } from '../../../kafka/produce/produce.ts'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import { suppressionId } from '../../../settings/suppression-list.ts'
import { until } from '../../helpers/until.ts'
import { ADMIN, api, VIEW } from '../api.ts'
import { crm, keys, shop } from '../in-memory.ts'
import { tasksInMemory } from '../tasks-in-memory.ts'

const XHR = { 'x-requested-with': 'console' }
const TYPED = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }

/** Without the fields that every line has. */
const audited = (lines: readonly string[]) =>
  lines
    .map((line) => JSON.parse(line))
    .filter(({ audit }) => audit)
    .map(({ level: _, time: __, pid: ___, hostname: ____, audit: _____, msg: ______, ...line }) => line)

/** With searches of lists that find nothing. */
function searching(parts: Parameters<typeof api>[1] = {}) {
  const search = async () => ({ items: [], next: null, searchedSince: null })
  const deliveries = { search, read: async () => undefined, unsettled: async () => [] as never }
  return api({}, { events: { search }, deliveries, ...parts })
}

describe('each change is one line: who, what, and the difference', () => {
  test('a record that is created, replaced and removed', async () => {
    const { ask, lines } = api({ sources: [shop] })
    const destination = { id: 'crm', name: 'CRM', webhooks: [{ url: 'https://crm.example/hook' }] }
    await ask({ method: 'POST', url: '/api/destinations', body: destination })
    const body = { ...destination, name: 'CRM 2', sourceIds: ['shop'], standardWebhooks: true }
    const url = '/api/destinations/crm'
    await ask({ method: 'PUT', url, body, headers: { 'if-match': '1' } })
    await ask({ method: 'DELETE', url })
    const by = { who: 'admin', by: 'bearer', address: '127.0.0.1', what: 'destination', id: 'crm' }
    expect(audited(lines)).toEqual([
      {
        ...by,
        outcome: 'created',
        version: 1,
        changes: {
          '/name': { to: 'CRM' },
          '/type': { to: 'Webhooks' },
          '/enabled': { to: true },
          '/sourceIds': { to: [] },
          '/webhooks/0/url': { to: 'https://crm.example/***' },
        },
      },
      {
        ...by,
        outcome: 'replaced',
        version: 2,
        changes: {
          '/name': { from: 'CRM', to: 'CRM 2' },
          '/sourceIds': { from: [], to: ['shop'] },
          '/standardWebhooks': { to: true },
        },
      },
      {
        ...by,
        outcome: 'removed',
        changes: {
          '/name': { from: 'CRM 2' },
          '/type': { from: 'Webhooks' },
          '/enabled': { from: true },
          '/sourceIds': { from: ['shop'] },
          '/standardWebhooks': { from: true },
          '/webhooks/0/url': { from: 'https://crm.example/***' },
        },
      },
    ])
  })

  test('who has signed in, and out', async () => {
    const { ask, lines } = api()
    const session = { method: 'POST', url: '/api/session', body: { token: VIEW }, token: '' }
    const { headers } = await ask(session)
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    await ask({ ...session, method: 'DELETE', headers: { cookie, ...XHR } })
    const from = { who: 'view', address: '127.0.0.1', session: cookie.split('.')[2], what: 'session' }
    expect(audited(lines)).toEqual([
      { ...from, by: 'bearer', outcome: 'created' },
      { ...from, by: 'cookie', outcome: 'removed' },
    ])
    expect(lines.join()).not.toContain(cookie.split('.')[3])
  })

  test('once for all sign-outs of a session at the same moment', async () => {
    const { tasks, taskWriter, endedSessions } = tasksInMemory()
    let writes = 0
    const slow: Pick<FencedWriter, 'write'> = {
      async write(decide) {
        writes += 1
        await delay(100)
        return taskWriter.write(decide)
      },
    }
    const { ask, lines } = api({}, { tasks, taskWriter: slow, endedSessions })
    const url = '/api/session'
    const { headers } = await ask({ method: 'POST', url, body: { token: VIEW }, token: '' })
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    const out = { method: 'DELETE', url, token: '', headers: { cookie, ...XHR } }
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(out)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(204))
    expect(audited(lines).map(({ outcome }) => outcome)).toEqual(['created', 'removed'])
    expect(writes).toBe(1)
    expect((await ask(out)).status).toBe(401)
  })

  test('and no more sign-outs of expired sessions than sign-ins: their cookies can be collected', async () => {
    const { ask, lines } = api()
    const { issue } = createSessions(keys.sessions ?? [], { admin: ADMIN, view: VIEW }, () => false)
    const answers = await Promise.all(
      Array.from({ length: 80 }, () => {
        const cookie = `sluice_session=${issue({ who: 'view' }, { now: Date.now() - 24 * 3_600_000 }).text}`
        return ask({ method: 'DELETE', url: '/api/session', token: VIEW, headers: { cookie } })
      }),
    )
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(60)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
    expect(audited(lines)).toHaveLength(60)
  })

  test('which also goes to its topic, with the time', async () => {
    const { ask, lines, auditTopic } = api({ sources: [shop] })
    await ask({ method: 'POST', url: '/api/suppressions', body: { sourceId: 'shop', userId: 'jane' } })
    await ask({ method: 'POST', url: '/api/session', body: { token: ADMIN }, token: '' })
    await ask({ method: 'POST', url: '/api/session', body: { token: 'wrong' }, token: '' })
    const entries = auditTopic.map((value) => JSON.parse(value))
    expect(entries.map(({ at: _, ...entry }) => entry)).toEqual(audited(lines).slice(0, 2))
    for (const { at } of entries) expect(new Date(at).toISOString()).toBe(at)
    expect(auditTopic.join()).not.toContain('jane')
  })

  test('which stays in the log if its topic takes no records', async () => {
    const auditProducer = { produce: async () => 'refused' as const }
    const { ask, lines } = api({}, { auditProducer })
    expect((await ask({ method: 'POST', url: '/api/sources', body: { name: 'Shop' } })).status).toBe(201)
    expect(audited(lines)).toMatchObject([{ what: 'source', outcome: 'created' }])
    await until(() => lines.some((line) => line.includes('an audit line is only in the log')))
  })

  test('also with LOG_LEVEL=warn', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
    const auditProducer = { produce: async () => 'refused' as const }
    await api({}, { log, auditProducer }).ask({ url: '/api/users?userId=u1' })
    await until(() => lines.length > 0)
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ line: { what: 'search', who: 'admin' } }])
  })

  test('which is in its topic without long values, or without all of them, if Kafka would not take it', async () => {
    const stored: string[] = []
    const auditProducer: Pick<Producer, 'produce'> = {
      async produce([record]) {
        const text = String(record?.value)
        if (text.length > 1_000_000) return 'too_large'
        stored.push(text)
        return 'acked'
      },
    }
    const { ask } = api({}, { auditProducer })
    const url = '/api/destinations/crm'
    const webhooks = (host: string) => [{ url: `https://${host}/` }]
    const eventTypes = Array.from({ length: 65_000 }, () => 'track')
    await ask({
      method: 'POST',
      url: '/api/destinations',
      body: { id: 'crm', name: 'CRM', webhooks: webhooks('a.example') },
    })
    const put = (body: object, version: number) =>
      ask({ method: 'PUT', url, body: { name: 'CRM', ...body }, headers: { 'if-match': String(version) } })
    await put({ webhooks: webhooks('a.example'), eventTypes }, 1)
    await put({ webhooks: webhooks('b.example'), eventTypes: [...eventTypes, 'page'] }, 2)
    expect(JSON.parse(stored[2] ?? '')).toMatchObject({
      outcome: 'replaced',
      changes: {
        '/webhooks/0/url': { from: 'https://a.example/', to: 'https://b.example/' },
        '/eventTypes': 'changed',
      },
    })
    const leaves = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`l${index}`, 'x']))
    const shape = { ['n'.repeat(8_000)]: leaves }
    await put({ webhooks: webhooks('b.example'), rules: { shape } }, 3)
    expect(stored[3]).toContain('"version":4')
    expect(stored[3]).not.toContain('changes')
  })

  test('a change by cookie', async () => {
    const { ask, lines } = api()
    const { headers } = await ask({ method: 'POST', url: '/api/session', body: { token: ADMIN }, token: '' })
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    const made = { method: 'POST', url: '/api/sources', body: { name: 'Shop' }, token: '' }
    await ask({ ...made, headers: { cookie, ...XHR } })
    expect(audited(lines)[1]).toMatchObject({ who: 'admin', by: 'cookie', what: 'source' })
  })

  test('a search that can find a user, without what was searched for; other searches are not audited', async () => {
    const events = { search: async () => ({ items: [], next: null, searchedSince: null }) }
    const { ask, lines } = api({ sources: [shop] }, { events })
    await ask({ url: '/api/events?messageId=m1' })
    await ask({ url: '/api/events?userId=jane@example.com' })
    await ask({ url: '/api/events?anonymousId=anon-jane', token: VIEW })
    await ask({ url: '/api/events?event=Jane%20Doe', token: VIEW })
    const line = { by: 'bearer', address: '127.0.0.1', what: 'search', outcome: 'searched' }
    expect(audited(lines)).toEqual([
      { ...line, who: 'admin' },
      { ...line, who: 'view' },
      { ...line, who: 'view' },
    ])
    expect(lines.join()).not.toMatch(/jane/i)
  })

  test.each(['/api/events?userId=jane', '/api/deliveries?user=jane', '/api/dead?user=jane'])(
    'a search that is repeated, paged or limited in time has one line for ten minutes: %s',
    async (url) => {
      let now = 1
      const { ask, lines } = searching({ tokenLimits: createTokenLimits(() => now) })
      const repeats = ['', '&limit=5', '&since=2026-01-02T03:04:05Z', '&until=2026-01-02T03:04:05Z']
      for (const more of repeats) expect((await ask({ url: `${url}${more}` })).status).toBe(200)
      expect(audited(lines)).toHaveLength(1)
      await ask({ url, token: VIEW })
      await ask({ url, from: '203.0.113.9' })
      await ask({ url: `${url}2` })
      await ask({ url: `${url}&destinationId=crm` })
      expect(audited(lines)).toHaveLength(5)
      now += 10 * 60_000
      await ask({ url })
      expect(audited(lines)).toHaveLength(5)
      now += 1
      await ask({ url })
      expect(audited(lines)).toHaveLength(6)
    },
  )

  test('a search that is repeated has a line again if topic audit did not take the last one', async () => {
    const stored: string[] = []
    let outcome: 'refused' | 'acked' = 'refused'
    const auditProducer: Pick<Producer, 'produce'> = {
      async produce([record]) {
        if (outcome === 'acked') stored.push(String(record?.value))
        return outcome
      },
    }
    const { ask, lines } = searching({ auditProducer })
    const url = '/api/events?userId=jane'
    await ask({ url })
    await until(() => lines.some((line) => line.includes('an audit line is only in the log')))
    outcome = 'acked'
    for (let times = 0; times < 2; times++) await ask({ url })
    expect(stored.map((line) => JSON.parse(line))).toMatchObject([{ what: 'search' }])
  })

  test('a look at a suppression, whose id is made from its user', async () => {
    const { ask, lines } = api({ sources: [shop] })
    const id = suppressionId({ sourceId: 'shop', userId: 'jane@example.com' })
    for (const method of ['GET', 'HEAD'])
      expect((await ask({ method, url: `/api/suppressions/${id}`, token: VIEW })).status).toBe(404)
    await ask({ url: '/api/suppressions', token: VIEW })
    const line = { who: 'view', by: 'bearer', address: '127.0.0.1', what: 'search', outcome: 'searched' }
    expect(audited(lines)).toEqual([line, line])
  })

  test('a search in the audit log for changes of a suppression', async () => {
    const openOffsets = async () => ({ bounds: async () => [], at: async () => [], close: async () => {} })
    const { ask, lines } = api({}, { openOffsets, readerOf: async () => ({ partitions: 1 }) as never })
    const id = suppressionId({ sourceId: 'shop', userId: 'jane@example.com' })
    for (const query of [
      `id=${id}`,
      `id=${id}&what=suppression`,
      `id=${id}&what=source`,
      'id=crm',
      'what=suppression',
    ])
      await ask({ url: `/api/audit?${query}`, token: VIEW })
    expect(audited(lines)).toMatchObject([{ what: 'search' }, { what: 'search' }])
  })

  test.each([
    '/api/users?userId=jane',
    '/api/dead?user=jane',
    '/api/dead?event=jane',
    '/api/suppressions/abc',
  ])('a network can search for only so many users, so it cannot fill the audit log: %s', async (url) => {
    const { ask, lines } = api()
    const asked = Array.from({ length: 110 }, (_, place) => ask({ url: `${url}${place}`, token: VIEW }))
    const answers = await Promise.all(asked)
    expect(answers.filter(({ json }) => json.code === 'too_many_searches')).toHaveLength(10)
    expect(audited(lines)).toHaveLength(100)
    expect((await ask({ url, token: VIEW, from: '203.0.113.9' })).status).not.toBe(429)
    expect((await ask({ url })).status).not.toBe(429)
  })

  test.each([
    '/api/events?userId=jane',
    '/api/events?anonymousId=a1',
    '/api/events?event=jane',
    '/api/deliveries?user=jane',
    '/api/deliveries?event=jane',
  ])('a search of an empty range counts too, although it takes no time: %s', async (path) => {
    const url = `${path}&since=2099-01-01T00:00:00Z`
    const { ask, lines } = searching()
    for (let place = 0; place < 100; place++)
      expect((await ask({ url: url.replace('&', `${place}&`), token: VIEW })).status).toBe(200)
    expect(await ask({ url, token: VIEW })).toMatchObject({
      status: 429,
      json: { code: 'too_many_searches' },
    })
    expect(audited(lines)).toHaveLength(100)
    expect((await ask({ url, token: VIEW, from: '203.0.113.9' })).status).toBe(200)
    expect((await ask({ url })).status).toBe(200)
    for (const other of ['/api/events?messageId=m1', '/api/deliveries?messageId=m1'])
      expect((await ask({ url: other, token: VIEW })).status).toBe(200)
  })

  test.each(['/api/events?userId=jane', '/api/events?anonymousId=a1', '/api/deliveries?user=jane'])(
    'but no search that was refused because others are in progress: %s',
    async (url) => {
      let isBusy = true
      const nothing = { items: [], next: null, searchedSince: null }
      const search = () => (isBusy ? undefined : Promise.resolve(nothing))
      const deliveries = { search, read: async () => undefined, unsettled: async () => [] as never }
      const { ask, lines } = api(
        {},
        { events: { search }, deliveries, tokenLimits: createTokenLimits(() => 1) },
      )
      expect(await ask({ url })).toMatchObject({ status: 429, json: { code: 'too_many_searches' } })
      expect(audited(lines)).toEqual([])
      isBusy = false
      await ask({ url })
      expect(audited(lines)).toHaveLength(1)
    },
  )

  test('the same search in another session is not a repetition', () => {
    const { isRepeated } = createTokenLimits(() => 1)
    const search = (id: string) =>
      isRepeated({ who: 'admin', by: 'cookie', address: '::1', session: { id, until: 9 } }, { user: 'jane' })
    expect(['a', 'b', 'a'].map(search)).toEqual([false, false, true])
  })

  test.each([
    ['admin', ADMIN, 4],
    ['view', VIEW, 3],
  ])('nor one in the audit log: %s', async (_, token, most) => {
    const { promise, reject } = Promise.withResolvers<never>()
    const openOffsets = () => promise
    const { ask, lines } = api({}, { openOffsets, readerOf: async () => ({ partitions: 1 }) as never })
    const url = `/api/audit?id=${suppressionId({ sourceId: 'shop', userId: 'jane' })}`
    const all = Array.from({ length: 10 }, () => ask({ url, token }))
    expect((await Promise.race(all)).status).toBe(429)
    reject(new Error('no broker'))
    const refused = (await Promise.all(all)).filter(({ status }) => status === 429)
    expect(refused).toHaveLength(10 - most)
    expect(audited(lines)).toHaveLength(most)
  })

  test.each([
    ['a host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    // Chromium sends this, as if the user had typed the address
    ['speculation rules that prefetch', { ...TYPED, 'sec-purpose': 'prefetch' }],
    ['speculation rules that prerender', { ...TYPED, 'sec-purpose': 'prefetch;prerender' }],
    ['a background fetch', { ...TYPED, 'sec-fetch-mode': 'no-cors' }],
    // Chromium sends no Sec-Fetch-Site
    ['a WebSocket', { 'sec-websocket-version': '13' }],
  ])(
    'but no search in the name of an operator whose browser was made to search by a page of another host: %s',
    async (_, sent) => {
      const { ask, lines } = api()
      const { headers } = await ask({ method: 'POST', url: '/api/session', body: { token: VIEW }, token: '' })
      const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
      const search = async (more: object) =>
        (await ask({ url: '/api/users?userId=jane', token: '', headers: { cookie, ...more } })).status
      expect(await search(sent)).toBe(401)
      expect(audited(lines)).toMatchObject([{ what: 'session' }])
      // a bookmark, and the console, also while the browser prerenders it, over https and over http
      const own = { 'sec-fetch-site': 'same-origin' }
      const prerendered = { 'sec-purpose': 'prefetch;prerender' }
      for (const more of [TYPED, own, { ...own, ...prerendered }, prerendered])
        expect(await search(more)).toBe(200)
      expect(audited(lines)).toHaveLength(5)
    },
  )

  test('a deletion, with the number of users but not their ids', async () => {
    const { ask, lines } = api({ sources: [shop], destinations: [crm] })
    const body = { id: 'ticket', userIds: ['jane@example.com', 'joe@example.com'], suppress: true }
    await ask({ method: 'POST', url: '/api/deletions', body })
    const counted = { users: 2, deletes: 2, sourceIds: ['shop'], suppressed: true }
    expect(audited(lines)).toEqual([
      {
        who: 'admin',
        by: 'bearer',
        address: '127.0.0.1',
        what: 'deletion',
        outcome: 'created',
        id: 'ticket',
        ...counted,
      },
    ])
    expect(lines.join()).not.toContain('example.com')
  })

  test('a suppression, without the id of its user', async () => {
    const { ask, lines } = api({ sources: [shop] })
    const body = { sourceId: 'shop', userId: 'jane@example.com' }
    await ask({ method: 'POST', url: '/api/suppressions', body })
    expect(audited(lines)).toMatchObject([
      {
        what: 'suppression',
        outcome: 'created',
        changes: { '/sourceId': { to: 'shop' }, '/userId': 'changed' },
      },
    ])
    expect(lines.join()).not.toContain('jane')
  })

  test('a change that may have been made; refused ones are not audited', async () => {
    const writer: Pick<FencedWriter, 'write'> = {
      async write(decide) {
        decide()
        return { ok: false, unavailable: new Error('no broker') }
      },
    }
    const post = { method: 'POST', url: '/api/sources' }
    const away = api({}, { writer })
    expect((await away.ask({ ...post, body: { id: 'shop', name: 'Shop' } })).status).toBe(503)
    const deletion = { id: 'd1', userIds: ['jane'], suppress: true }
    const deleting = api({}, { taskWriter: writer })
    expect((await deleting.ask({ method: 'POST', url: '/api/deletions', body: deletion })).status).toBe(503)
    expect(audited([...away.lines, ...deleting.lines])).toMatchObject([
      { what: 'source', id: 'shop', outcome: 'unavailable' },
      { what: 'deletion', id: 'd1', outcome: 'unavailable' },
    ])
    const there = api()
    expect((await there.ask({ ...post, body: {} })).status).toBe(400)
    expect(audited(there.lines)).toEqual([])
  })
})

describe('the difference', () => {
  const webhook = (url: string, headers = {}) => ({ webhooks: [{ url, headers }] })

  test.each<[string, object, object, object]>([
    ['nothing', shop, { ...shop, version: 9, updatedAt: 'later' }, {}],
    ['a secret', { sharedSecret: 'a' }, { sharedSecret: 'b' }, { '/sharedSecret': 'changed' }],
    ['a secret that is new', {}, { previousSecret: 'b' }, { '/previousSecret': 'changed' }],
    ['a secret that is gone', { writeKey: 'a' }, {}, { '/writeKey': 'changed' }],
    [
      "a webhook's header",
      webhook('https://a.example/', { 'X-A': '1', 'X-B': '1' }),
      webhook('https://a.example/', { 'X-A': '1', 'X-B': '2' }),
      { '/webhooks/0/headers/X-B': 'changed' },
    ],
    [
      'a URL',
      webhook('https://a.example/x?token=1'),
      webhook('https://b.example/y?token=1#2'),
      { '/webhooks/0/url': { from: 'https://a.example/***', to: 'https://b.example/***' } },
    ],
    [
      'the path of a URL',
      webhook('https://a.example/?token=1'),
      webhook('https://a.example/?token=2'),
      { '/webhooks/0/url': 'changed' },
    ],
    [
      'an object within',
      { rateLimit: { perSecond: 1, burst: 2 } },
      { rateLimit: { perSecond: 1, burst: 3 } },
      { '/rateLimit/burst': { from: 2, to: 3 } },
    ],
    ['a list', { eventTypes: ['track'] }, {}, { '/eventTypes': { from: ['track'] } }],
  ])('%s', (_, old, record, expected) => {
    expect(changesOf(old, record)).toEqual(expected)
  })

  test('holds no secret, whatever it is', () => {
    const secret = fc.string({ minLength: 1 }).map((text) => `planted${text}`)
    const maybe = fc.option(secret, { nil: undefined })
    const url = fc
      .tuple(fc.constantFrom('?', '#', '?a=1&'), secret)
      .map(([sign, text]) => `https://crm.example/hook${sign}${text}`)
    const headers = fc.dictionary(fc.constantFrom('X-A', 'x-b', 'url', 'name', '~/'), secret)
    const record = fc.option(
      fc.record({
        name: fc.constantFrom('CRM', 'ERP'),
        writeKey: maybe,
        sharedSecret: maybe,
        previousSecret: maybe,
        userId: maybe,
        webhooks: fc.array(fc.record({ url, headers }), { maxLength: 3 }),
      }),
      { nil: undefined },
    )
    fc.assert(
      fc.property(record, record, (old, next) => {
        expect(JSON.stringify(changesOf(old, next))).not.toContain('planted')
      }),
    )
  })
})
