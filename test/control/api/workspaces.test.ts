import { describe, expect, test } from 'vitest'
import { listedOf } from '../../../control/activity/deliveries/listed.ts'
import type { DeliverySearch } from '../../../control/activity/deliveries/search.ts'
import type { Poster } from '../../../delivery/post/post.ts'
import type { Destination, Source } from '../../../settings/settings.ts'
import { aDelivery } from '../../helpers/events.ts'
import { until } from '../../helpers/until.ts'
import { ADMIN, api, VIEW } from '../api.ts'
import { anAttempt, attemptsHeld } from '../attempts-in-memory.ts'
import { aDeadOne, deadHeld } from '../dead-in-memory.ts'
import { crm, shop } from '../in-memory.ts'

const source = (workspaceId: string): Source => ({
  ...shop,
  id: `${workspaceId}-app`,
  writeKey: `${workspaceId}-write-key`,
  workspaceId,
})
const destination = (workspaceId: string): Destination => ({
  ...crm,
  id: `${workspaceId}-crm`,
  sourceIds: [`${workspaceId}-app`],
  webhooks: [{ url: `https://${workspaceId}.example/hook`, headers: { 'X-Team': 'header-secret' } }],
  workspaceId,
})
const settings = {
  sources: [shop, source('acme'), source('bolt')],
  destinations: [crm, destination('acme'), destination('bolt')],
}

/** Deliveries of each destination. The search leaves out what the caller may not see. */
const deliveries: DeliverySearch = {
  async search(_, { isSeen }) {
    const all = ['crm', 'acme-crm', 'bolt-crm'].map(listed)
    return { items: all.filter((each) => isSeen?.(each) ?? true), next: null, searchedSince: 0 }
  },
  async read({ offset }) {
    const id = ['crm', 'acme-crm', 'bolt-crm'][offset] ?? ''
    return { listed: listed(id, offset), delivery: aDelivery({ destinationId: id }) }
  },
  unsettled: async () => new Set(),
}
const listed = (destinationId: string, offset: number) =>
  listedOf(aDelivery({ destinationId, deliveryId: destinationId }), `${destinationId}/u1`, {
    routed: true,
    partition: 0,
    offset,
  })

const everywhere = ['crm', 'acme-crm', 'bolt-crm']

function system(records: Parameters<typeof api>[0] = settings, parts: Parameters<typeof api>[1] = {}) {
  const operated = api(records, {
    ...attemptsHeld(everywhere.map((destinationId) => anAttempt({ destinationId }))),
    ...deadHeld(everywhere.map((destinationId) => aDeadOne({ destinationId }))),
    deliveries,
    trace: async () => new Map(),
    latestEvents: { latest: async () => ({ items: [], next: null, searchedSince: null }) },
    ...parts,
  })
  /** @returns a caller with a token of the workspace. */
  async function member(workspaceId: string) {
    const url = `/api/workspaces/${workspaceId}/tokens`
    const { json } = await operated.ask({ method: 'POST', url })
    return (asked: Parameters<typeof operated.ask>[0]) => operated.ask({ token: json.token, ...asked })
  }
  return { ...operated, member }
}

describe('a workspace token', () => {
  test('is made by an administrator, for an hour or as long as asked', async () => {
    const { ask, lines } = system()
    const url = '/api/workspaces/acme/tokens'
    const before = Math.floor(Date.now() / 1_000) * 1_000
    const { status, json } = await ask({ method: 'POST', url })
    expect([status, json]).toEqual([
      201,
      {
        workspaceId: 'acme',
        token: expect.stringMatching(/^workspace:acme\./),
        expiresAt: expect.any(String),
      },
    ])
    expect(Date.parse(json.expiresAt)).toBeGreaterThanOrEqual(before + 3_600_000)
    expect(Date.parse(json.expiresAt)).toBeLessThanOrEqual(Date.now() + 3_600_000)
    const short = await ask({ method: 'POST', url, body: { expiresIn: 60 } })
    expect(Date.parse(short.json.expiresAt) - Date.now()).toBeLessThanOrEqual(60_000)
    expect(lines.join()).not.toContain(json.token)
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ audit: true, who: 'admin', what: 'token', id: 'acme', outcome: 'created' }),
    )
  })

  test.each([
    ['a longer time than a session', { expiresIn: 43_201 }],
    ['too short a time', { expiresIn: 59 }],
    ['an unknown field', { expires: 60 }],
  ])('is refused with %s', async (_, body) => {
    const asked = { method: 'POST', url: '/api/workspaces/acme/tokens', body }
    expect(await system().ask(asked)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
  })

  test('needs a workspace that a source or destination belongs to', async () => {
    const asked = { method: 'POST', url: '/api/workspaces/acmee/tokens' }
    expect(await system().ask(asked)).toMatchObject({
      status: 404,
      json: { message: 'There is no workspace acmee' },
    })
  })

  test('is made neither with the view token nor with another workspace token', async () => {
    const { ask, member } = system()
    const asked = { method: 'POST', url: '/api/workspaces/acme/tokens' }
    expect(await ask({ ...asked, token: VIEW })).toMatchObject({ status: 403, json: { code: 'read_only' } })
    const acme = await member('acme')
    expect(await acme(asked)).toMatchObject({ status: 403, json: { code: 'outside_workspace' } })
  })

  test('shows whose it is, and ends when it signs out', async () => {
    const { member } = system()
    const acme = await member('acme')
    expect(await acme({ url: '/api/session' })).toMatchObject({
      status: 200,
      json: { who: 'workspace', workspaceId: 'acme', expiresAt: expect.any(String) },
    })
    expect((await acme({ method: 'DELETE', url: '/api/session' })).status).toBe(204)
    expect(await acme({ url: '/api/session' })).toMatchObject({ status: 401, json: { code: 'unauthorized' } })
  })

  test.each([
    ['forged', (token: string) => token.replace('acme', 'bolt')],
    [
      'of a longer time',
      (token: string) => token.replace(/\.(\d+)\./, (_, until) => `.${Number(until) + 60}.`),
    ],
    ['cut', (token: string) => token.slice(0, -1)],
  ])('that is %s is a wrong token', async (_, change) => {
    const { ask } = system()
    const { json } = await ask({ method: 'POST', url: '/api/workspaces/acme/tokens' })
    expect(await ask({ url: '/api/destinations', token: change(json.token) })).toMatchObject({
      status: 401,
      json: { code: 'unauthorized', message: 'This token is not valid' },
    })
  })

  test('ends with the admin token that made it', async () => {
    const { ask } = system()
    const { json } = await ask({ method: 'POST', url: '/api/workspaces/acme/tokens' })
    const changed = api(settings, { tokens: { admin: 'another-admin-token', view: VIEW } })
    expect((await changed.ask({ url: '/api/destinations', token: json.token })).status).toBe(401)
  })

  test('signs in for as long as it is valid, and the cookie can do no more', async () => {
    const { ask } = system()
    const made = await ask({ method: 'POST', url: '/api/workspaces/acme/tokens', body: { expiresIn: 600 } })
    const signedIn = await ask({
      method: 'POST',
      url: '/api/session',
      token: '',
      body: { token: made.json.token },
    })
    const [cookie = '', maxAge = ''] = String(signedIn.headers['set-cookie']).split('; ')
    expect(Number(maxAge.replace('Max-Age=', ''))).toBeLessThanOrEqual(600)
    const browse = (asked: Parameters<typeof ask>[0]) =>
      ask({ ...asked, token: '', headers: { cookie, 'x-requested-with': 'console' } })
    expect((await browse({ url: '/api/session' })).json).toMatchObject({ expiresAt: made.json.expiresAt })
    const { json } = await browse({ url: '/api/destinations' })
    expect(json.items.map(({ id }: Destination) => id)).toEqual(['acme-crm'])
    expect(await browse({ url: '/api/audit' })).toMatchObject({ status: 403 })
    const removed = await browse({ method: 'DELETE', url: '/api/destinations/bolt-crm' })
    expect(removed.status).toBe(404)
    // whoever signs out also ends a token that leaked
    expect((await browse({ method: 'DELETE', url: '/api/session' })).status).toBe(204)
    for (const token of [made.json.token, cookie.replace('sluice_session=', '')])
      expect((await ask({ url: '/api/destinations', token })).status).toBe(401)
  })

  test('a session of another role is no bearer token', async () => {
    const { ask } = system()
    const { headers } = await ask({ method: 'POST', url: '/api/session', token: '', body: { token: ADMIN } })
    const [text = ''] = String(headers['set-cookie']).replace('sluice_session=', '').split(';')
    expect((await ask({ url: '/api/sources', token: text })).status).toBe(401)
  })
})

/** Each must show or change only what belongs to the caller's workspace. */
const ALLOWED = [
  'GET /api/session',
  'DELETE /api/session',
  'GET /api/sources',
  'GET /api/sources/{id}',
  'GET /api/destinations',
  'POST /api/destinations',
  'GET /api/destinations/{id}',
  'PUT /api/destinations/{id}',
  'DELETE /api/destinations/{id}',
  'POST /api/destinations/preview',
  'POST /api/destinations/{id}/test',
  'GET /api/destinations/{id}/health',
  'GET /api/destinations/{id}/activity',
  'GET /api/health',
  'GET /api/attempts',
  'GET /api/deliveries',
  'GET /api/deliveries/{id}',
  'GET /api/dead',
  'GET /api/replays',
  'POST /api/replays',
  'GET /api/replays/{id}',
  'DELETE /api/replays/{id}',
]

test('a workspace token may use these operations and no others', async () => {
  const { ask, member } = system()
  const { json: document } = await ask({ url: '/api/openapi.json', token: '' })
  const allowed: string[] = []
  for (const [path, operations] of Object.entries<Record<string, { security?: [] }>>(document.paths))
    for (const [name, { security }] of Object.entries(operations)) {
      // anyone may use it
      if (security) continue
      const method = name.toUpperCase()
      // signing out ends a token
      const acme = await member('acme')
      const { json } = await acme({ method, url: path.replace('{id}', 'nothing') })
      if (json?.code !== 'outside_workspace') allowed.push(`${method} ${path}`)
    }
  expect(allowed.sort()).toEqual(ALLOWED.toSorted())
})

const idsIn = ({ json }: { json?: { items: { id: string }[] } }) => json?.items.map(({ id }) => id)
const owners = ({ json }: { json?: { items: { destinationId: string }[] } }) =>
  json?.items.map(({ destinationId }) => destinationId)

describe('with a workspace token', () => {
  test('lists have only what belongs to the workspace', async () => {
    const acme = await system().member('acme')
    expect(idsIn(await acme({ url: '/api/sources' }))).toEqual(['acme-app'])
    expect(idsIn(await acme({ url: '/api/destinations' }))).toEqual(['acme-crm'])
    for (const list of ['health', 'attempts', 'deliveries', 'dead'])
      expect([list, owners(await acme({ url: `/api/${list}` }))]).toEqual([list, ['acme-crm']])
    const { json } = await acme({ url: '/api/dead' })
    expect(json.counts).toEqual([{ destinationId: 'acme-crm', reason: 'attempts_exhausted', count: 1 }])
    expect(json.matching).toEqual([{ destinationId: 'acme-crm', count: 1 }])
  })

  test('filters do not reach further', async () => {
    const acme = await system().member('acme')
    for (const list of ['attempts', 'deliveries', 'dead'])
      for (const of of ['crm', 'bolt-crm']) {
        const { json } = await acme({ url: `/api/${list}?destinationId=${of}` })
        expect(owners({ json })?.filter((id) => id !== 'acme-crm')).toEqual([])
      }
  })

  test("another workspace's records look as if they did not exist", async () => {
    const { member, topic, tasks, ask } = system()
    const acme = await member('acme')
    const made = await ask({
      method: 'POST',
      url: '/api/replays',
      body: { id: 'r1', destinationId: 'bolt-crm' },
    })
    expect(made.status).toBe(202)
    const before = [topic.size, tasks.length]
    const body = { name: 'Mine', webhooks: [{ url: 'https://acme.example/' }] }
    const hidden: [string, string, unknown?][] = [
      ['GET', '/api/sources/shop'],
      ['GET', '/api/sources/bolt-app'],
      ['GET', '/api/replays/r1'],
      ['DELETE', '/api/replays/r1'],
      // `deliveries` above
      ['GET', '/api/deliveries/d0-0'],
      ['GET', '/api/deliveries/d0-2'],
    ]
    for (const id of ['crm', 'bolt-crm', 'nothing'])
      hidden.push(
        ['GET', `/api/destinations/${id}`],
        ['PUT', `/api/destinations/${id}`, body],
        ['PUT', `/api/destinations/${id}?dryRun=true`, body],
        ['DELETE', `/api/destinations/${id}`],
        ['DELETE', `/api/destinations/${id}?dryRun=true`],
        ['POST', `/api/destinations/${id}/test`],
        ['GET', `/api/destinations/${id}/health`],
        ['GET', `/api/destinations/${id}/activity`],
      )
    for (const [method, url, sent] of hidden) {
      const headers = { 'if-match': '2' }
      const { status, json } = await acme({ method, url, body: sent, headers })
      expect([method, url, status, json.code]).toEqual([method, url, 404, 'not_found'])
      expect(json.message).toMatch(/^There is no (source|destination|replay|delivery) [\w-]+$/)
    }
    expect(idsIn(await acme({ url: '/api/replays' }))).toEqual([])
    expect([topic.size, tasks.length]).toEqual(before)
  })

  test('a record that cannot be read looks as if it did not exist', async () => {
    const unreadable = [
      { kind: 'destination' as const, id: 'old', reason: 'no key', since: 0, isKept: false },
    ]
    const acme = await system({ ...settings, unreadable }).member('acme')
    for (const [method, url] of [
      ['GET', '/api/destinations/old'],
      ['DELETE', '/api/destinations/old'],
      ['POST', '/api/destinations/old/test'],
    ] as const)
      expect(await acme({ method, url })).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })

  test('a destination is created in the workspace, with an id of its own', async () => {
    const { member, settings } = system()
    const acme = await member('acme')
    const body = { name: 'New', sourceIds: ['acme-app'], webhooks: [{ url: 'https://acme.example/new' }] }
    const { status, json } = await acme({ method: 'POST', url: '/api/destinations', body })
    expect([status, json]).toMatchObject([
      201,
      { workspaceId: 'acme', id: expect.stringMatching(/^new-[0-9a-f]{10}$/) },
    ])
    expect(settings.destinations.get(json.id)?.workspaceId).toBe('acme')
    const named = await acme({ method: 'POST', url: '/api/destinations', body: { ...body, id: 'mine' } })
    expect(named).toMatchObject({ status: 400, json: { errors: [{ pointer: '/id', code: 'id_fixed' }] } })
    const elsewhere = { ...body, workspaceId: 'bolt' }
    expect(await acme({ method: 'POST', url: '/api/destinations', body: elsewhere })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '/workspaceId', code: 'workspace_fixed' }] },
    })
  })

  test('a destination is replaced and removed, and stays in the workspace', async () => {
    const { member, settings } = system()
    const acme = await member('acme')
    const url = '/api/destinations/acme-crm'
    const { json: read } = await acme({ url })
    expect(read).toMatchObject({ sharedSecret: '***', webhooks: [{ url: 'https://acme.example/hook' }] })
    const { workspaceId: _, ...without } = read
    const headers = { 'if-match': '2' }
    const put = await acme({ method: 'PUT', url, headers, body: { ...without, name: 'Renamed' } })
    expect([put.status, put.json]).toMatchObject([200, { name: 'Renamed', workspaceId: 'acme' }])
    expect(settings.destinations.get('acme-crm')).toMatchObject({ sharedSecret: 'shared-secret' })
    const moved = { ...read, workspaceId: 'bolt' }
    expect(await acme({ method: 'PUT', url, headers: { 'if-match': '3' }, body: moved })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '/workspaceId', code: 'workspace_fixed' }] },
    })
    expect((await acme({ method: 'DELETE', url })).status).toBe(204)
  })

  test.each(['shop', 'bolt-app', 'nothing'])(
    'a destination cannot get the events of source %s',
    async (id) => {
      const acme = await system().member('acme')
      const body = { name: 'New', sourceIds: [id], webhooks: [{ url: 'https://acme.example/new' }] }
      const { status, json } = await acme({ method: 'POST', url: '/api/destinations', body })
      const message = `workspace acme has no source "${id}": leave it out`
      expect([status, json.errors]).toEqual([
        400,
        [{ pointer: '/sourceIds/0', code: 'unknown_source', message }],
      ])
      const preview = { sourceIds: [id], rules: {} }
      const previewed = await acme({ method: 'POST', url: '/api/destinations/preview', body: preview })
      expect(previewed).toMatchObject({ status: 400, json: { errors: [{ code: 'unknown_source' }] } })
    },
  )

  test('rules are tried on events of its own sources', async () => {
    const acme = await system().member('acme')
    const body = { sourceIds: ['acme-app'], rules: {}, destinationId: 'acme-crm' }
    expect((await acme({ method: 'POST', url: '/api/destinations/preview', body })).status).toBe(200)
    const foreign = { ...body, destinationId: 'bolt-crm' }
    const { json } = await acme({ method: 'POST', url: '/api/destinations/preview', body: foreign })
    expect(json.errors).toMatchObject([{ pointer: '/destinationId', code: 'unknown_destination' }])
  })

  test('previews leave places for others', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let running = 0
    async function latest() {
      running += 1
      await promise
      return { items: [], next: null, searchedSince: null }
    }
    const { ask, member } = system(settings, { latestEvents: { latest } })
    const [acme, bolt] = [await member('acme'), await member('bolt')]
    const preview = (id: string) => ({
      method: 'POST',
      url: '/api/destinations/preview',
      body: { sourceIds: [id], rules: {} },
    })
    const first = [acme(preview('acme-app')), acme(preview('acme-app'))]
    await until(() => running === 2)
    for (const [caller, id] of [
      [acme, 'acme-app'],
      [bolt, 'bolt-app'],
    ] as const)
      expect(await caller(preview(id))).toMatchObject({ status: 429, json: { code: 'too_many_searches' } })
    const admin = ask(preview('shop'))
    await until(() => running === 3)
    resolve()
    for (const { status } of await Promise.all([...first, admin])) expect(status).toBe(200)
  })

  test('dead letters are replayed to its own destinations', async () => {
    const { member } = system()
    const acme = await member('acme')
    const made = await acme({ method: 'POST', url: '/api/replays', body: { destinationId: 'acme-crm' } })
    expect(made.status).toBe(202)
    expect(idsIn(await acme({ url: '/api/replays' }))).toEqual([made.json.id])
    expect((await acme({ method: 'DELETE', url: `/api/replays/${made.json.id}` })).status).toBe(200)
    for (const destinationId of ['crm', 'bolt-crm', 'nothing'])
      expect(await acme({ method: 'POST', url: '/api/replays', body: { destinationId } })).toMatchObject({
        status: 400,
        json: {
          errors: [{ code: 'unknown_destination', message: `there is no destination ${destinationId}` }],
        },
      })
  })

  test('replays have ids that reveal nothing about the replays of others', async () => {
    const { ask, member } = system()
    const acme = await member('acme')
    const replay = (id: string) => ({
      method: 'POST',
      url: '/api/replays',
      body: { id, destinationId: 'acme-crm' },
    })
    const others = { ...replay('q4'), body: { id: 'q4', destinationId: 'bolt-crm' } }
    expect((await ask(others)).status).toBe(202)
    for (const id of ['q4', 'free', '0123456789abcdef-0123456789abcdef']) {
      const { status, json } = await acme(replay(id))
      const message =
        'with a workspace token, the id must be a UUID or 32 hexadecimal digits: give one, or leave it out'
      expect([status, json.errors]).toEqual([400, [{ pointer: '/id', code: 'invalid_format', message }]])
    }
    // the console leaves out the hyphens
    for (const id of ['0b8f3f5e-5c1c-4c55-9c6e-0f3b2a1d4e5f', '0b8f3f5e5c1c4c559c6e0f3b2a1d4e5f']) {
      expect((await acme(replay(id))).json).toMatchObject({ id })
      expect(await acme(replay(id))).toMatchObject({ status: 409, json: { code: 'id_taken' } })
    }
  })

  test('ten replays run at once, in each workspace', async () => {
    const { ask, member } = system()
    const [acme, bolt] = [await member('acme'), await member('bolt')]
    const replay = (destinationId: string) => ({
      method: 'POST',
      url: '/api/replays',
      body: { destinationId },
    })
    const ids: string[] = []
    for (let nth = 0; nth < 10; nth++) ids.push((await acme(replay('acme-crm'))).json.id)
    const { status, json } = await acme(replay('acme-crm'))
    const message = '10 replays are running in workspace acme, and no more are allowed: wait, or cancel one'
    expect([status, json.errors]).toEqual([400, [{ pointer: '', code: 'too_many', message }]])
    expect((await bolt(replay('bolt-crm'))).status).toBe(202)
    expect((await ask(replay('acme-crm'))).status).toBe(202)
    for (const id of ids.slice(0, 2)) await acme({ method: 'DELETE', url: `/api/replays/${id}` })
    expect((await acme(replay('acme-crm'))).status).toBe(202)
  })

  test('tests leave places for administrators', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let sent = 0
    const openPoster = (): Poster => ({
      async post(_, { onOutcome, onEnd }) {
        sent += 1
        await promise
        onOutcome({ outcome: 'delivered', status: 200 }, 7, true)
        onEnd(null)
      },
      close: async () => {},
    })
    const { ask, member } = system(settings, { openPoster })
    const [acme, bolt] = [await member('acme'), await member('bolt')]
    const test = (id: string) => ({ method: 'POST', url: `/api/destinations/${id}/test` })
    const first = Array.from({ length: 5 }, () => acme(test('acme-crm')))
    await until(() => sent === 5)
    expect(await bolt(test('bolt-crm'))).toMatchObject({ status: 429, json: { code: 'too_many_tests' } })
    const admin = ask(test('bolt-crm'))
    await until(() => sent === 6)
    resolve()
    for (const { status } of await Promise.all([...first, admin])) expect(status).toBe(200)
  })

  test('sources cannot change, and their write keys are hidden', async () => {
    const acme = await system().member('acme')
    const url = '/api/sources/acme-app'
    const { json, text } = await acme({ url })
    expect(json.writeKey).toBe('***')
    expect(text).not.toContain('write-key')
    for (const method of ['PUT', 'DELETE'])
      expect(await acme({ method, url, body: json, headers: { 'if-match': '3' } })).toMatchObject({
        status: 403,
        json: { code: 'outside_workspace' },
      })
  })

  test('a change is audited with the workspace', async () => {
    const { member, lines } = system()
    const acme = await member('acme')
    await acme({ method: 'DELETE', url: '/api/destinations/acme-crm' })
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        audit: true,
        who: 'workspace',
        workspaceId: 'acme',
        by: 'bearer',
        session: expect.any(String),
        what: 'destination',
        outcome: 'removed',
      }),
    )
  })
})

describe('an administrator', () => {
  test('may put a source and a destination into a workspace, once', async () => {
    const { ask } = system()
    for (const [path, version] of [
      ['sources/shop', 3],
      ['destinations/crm', 2],
    ] as const) {
      const url = `/api/${path}`
      const { json: read } = await ask({ url })
      const body = { ...read, workspaceId: 'corp' }
      const replaced = await ask({ method: 'PUT', url, headers: { 'if-match': `${version}` }, body })
      expect([replaced.status, replaced.json]).toMatchObject([200, { workspaceId: 'corp' }])
      const moved = await ask({
        method: 'PUT',
        url,
        headers: { 'if-match': `${version + 1}` },
        body: { ...read, workspaceId: 'acme' },
      })
      expect(moved).toMatchObject({
        status: 400,
        json: { errors: [{ pointer: '/workspaceId', code: 'workspace_fixed' }] },
      })
    }
  })

  test('connects destinations without a workspace to any source', async () => {
    const body = { ...crm, id: 'lake', sourceIds: ['shop', 'acme-app', 'bolt-app'] }
    const { version: _, updatedAt: __, ...given } = body
    expect((await system().ask({ method: 'POST', url: '/api/destinations', body: given })).status).toBe(201)
  })

  test('cannot create a source whose destinations belong to another workspace', async () => {
    const unreadable = [
      { kind: 'source' as const, id: 'acme-app', reason: 'no key', since: 0, isKept: false },
    ]
    const sources = settings.sources.filter(({ id }) => id !== 'acme-app')
    const { ask } = system({ ...settings, sources, unreadable })
    const create = (workspaceId?: string) =>
      ask({ method: 'POST', url: '/api/sources', body: { id: 'acme-app', name: 'App', workspaceId } })
    const message =
      'destination acme-crm of workspace acme is connected to a source with this id: choose another id or this workspace'
    for (const workspaceId of ['bolt', undefined])
      expect((await create(workspaceId)).json.errors).toEqual([
        { pointer: '/workspaceId', code: 'workspace_fixed', message },
      ])
    expect((await create('acme')).status).toBe(201)
  })

  test('cannot have a source of notices in a workspace', async () => {
    const body = { name: 'Trouble', kind: 'notices', workspaceId: 'acme' }
    expect(await system().ask({ method: 'POST', url: '/api/sources', body })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '/workspaceId', code: 'no_workspace' }] },
    })
  })

  test('cannot exceed the destinations of a workspace', async () => {
    const many = Array.from({ length: 100 }, (_, nth) => ({ ...destination('acme'), id: `acme-${nth}` }))
    const { ask } = system({ ...settings, destinations: many })
    const body = { name: 'One more', workspaceId: 'acme', webhooks: [{ url: 'https://acme.example/' }] }
    const made = await ask({ method: 'POST', url: '/api/destinations', body })
    expect(made.json.errors).toEqual([
      {
        pointer: '/workspaceId',
        code: 'too_many',
        message: 'workspace acme has 100 destinations, and at most 100 are allowed: remove one first',
      },
    ])
    const headers = { 'if-match': '2' }
    const again = { ...body, sourceIds: [] }
    const replaced = await ask({ method: 'PUT', url: '/api/destinations/acme-0', headers, body: again })
    expect(replaced.status).toBe(200)
    expect(
      (await ask({ method: 'POST', url: '/api/destinations', body: { ...body, workspaceId: 'bolt' } }))
        .status,
    ).toBe(201)
  })
})
