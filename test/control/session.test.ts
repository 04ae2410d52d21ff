import { describe, expect, test } from 'vitest'
import { createSessions, SESSION_S } from '../../control/session/signed.ts'
import { ADMIN, api, VIEW } from './api.ts'
import { keys, shop } from './in-memory.ts'

const tokens = { admin: ADMIN, view: VIEW }
const url = '/api/session'
const signIn = (token: unknown) => ({ method: 'POST', url, body: { token }, token: '' })
const XHR = { 'x-requested-with': 'console' }

type Answer = Awaited<ReturnType<ReturnType<typeof api>['ask']>>

/** What a browser sends from then on. */
const cookieOf = ({ headers }: Answer) => String(headers['set-cookie']).split(';')[0] ?? ''

async function signedIn(ask: ReturnType<typeof api>['ask'], token: string) {
  const answer = await ask(signIn(token))
  expect(answer).toMatchObject({ status: 204, text: '' })
  const cookie = cookieOf(answer)
  return (asked: Parameters<typeof ask>[0]) =>
    ask({ ...asked, token: '', headers: { cookie, ...asked.headers } })
}

describe('signing in', () => {
  test('with a token gives a cookie that no script reads and no other site sends', async () => {
    const { headers } = await api().ask(signIn(ADMIN))
    const [, ...attributes] = String(headers['set-cookie']).split('; ')
    expect(attributes.sort()).toEqual(['HttpOnly', `Max-Age=${12 * 60 * 60}`, 'Path=/', 'SameSite=Strict'])
    expect(headers['cache-control']).toBe('no-store')
  })

  test.each([
    ['by https through a proxy that is trusted: the cookie is for https alone', ['10.0.0.0/8'], true],
    ['by https, as somebody says who is not trusted', [], false],
  ])('%s', async (_, trustProxy, isSecure) => {
    const { ask } = api({}, { trustProxy })
    const headers = { 'x-forwarded-proto': 'https' }
    const { headers: given } = await ask({ ...signIn(ADMIN), from: '10.0.0.7', headers })
    expect(String(given['set-cookie']).includes('Secure')).toBe(isSecure)
  })

  test('who signs in may do what the token may, and is told who that is', async () => {
    const { ask } = api({ sources: [shop] })
    for (const [token, who] of [
      [ADMIN, 'admin'],
      [VIEW, 'view'],
    ] as const) {
      const browse = await signedIn(ask, token)
      expect(await browse({ url })).toMatchObject({ status: 200, json: { who } })
      const { text } = await browse({ url: '/api/sources/shop' })
      expect(text.includes(shop.writeKey)).toBe(who === 'admin')
      const made = await browse({ method: 'POST', url: '/api/sources', body: { name: 'x' }, headers: XHR })
      expect(made.status).toBe(who === 'admin' ? 201 : 403)
    }
  })

  test('with a wrong token, or none', async () => {
    const { ask } = api()
    expect(await ask(signIn('wrong'))).toMatchObject({ status: 401, json: { code: 'unauthorized' } })
    for (const token of [undefined, 5, ''])
      expect(await ask(signIn(token))).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
    expect((await ask({ url, token: '' })).status).toBe(401)
  })

  test('works while the settings are not there yet, as it needs none', async () => {
    const { ask } = api({}, { probe: { notReady: () => 'loading' } })
    expect((await ask(signIn(ADMIN))).status).toBe(204)
  })
})

describe('a change by cookie', () => {
  const post = { method: 'POST', url: '/api/sources', body: { name: 'x' } }

  test('needs a header that no other site can have a browser send', async () => {
    const { ask, topic } = api()
    const browse = await signedIn(ask, ADMIN)
    expect(await browse(post)).toMatchObject({ status: 403, json: { code: 'csrf' } })
    expect(topic.size).toBe(0)
    expect((await browse({ ...post, headers: XHR })).status).toBe(201)
  })

  test('is not one by token, which needs no more than that, whatever cookie is with it', async () => {
    const { ask } = api()
    const cookie = cookieOf(await ask(signIn(VIEW)))
    expect((await ask({ ...post, headers: { cookie } })).status).toBe(201)
    expect((await ask({ ...post, token: 'wrong', headers: { cookie } })).status).toBe(401)
  })
})

describe('signing out', () => {
  test('takes the cookie away, also from who may only view', async () => {
    const browse = await signedIn(api().ask, VIEW)
    expect(await browse({ method: 'DELETE', url })).toMatchObject({ status: 403, json: { code: 'csrf' } })
    const { status, headers } = await browse({ method: 'DELETE', url, headers: XHR })
    expect(status).toBe(204)
    expect(headers['set-cookie']).toMatch(/^sluice_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/)
  })
})

describe('a session', () => {
  const now = Date.parse('2026-01-02T03:04:05.678Z')
  const { issue, whoOf } = createSessions(keys, tokens)

  test('is good for twelve hours', () => {
    const session = issue('view', now)
    expect(whoOf(session, now + SESSION_S * 1000 - 1_000)).toBe('view')
    expect(whoOf(session, now + SESSION_S * 1000)).toBeUndefined()
  })

  test('is known to every instance, and to one that is started later', () => {
    expect(createSessions(keys, tokens).whoOf(issue('admin', now), now)).toBe('admin')
  })

  test('is over when its token has changed; that of the other token goes on', () => {
    const changed = createSessions(keys, { ...tokens, admin: 'another-admin-token' })
    expect(changed.whoOf(issue('admin', now), now)).toBeUndefined()
    expect(changed.whoOf(issue('view', now), now)).toBe('view')
    expect(createSessions(keys, { admin: ADMIN }).whoOf(issue('view', now), now)).toBeUndefined()
  })

  test('outlives the rotation of CONFIG_KEY for as long as the old key is among the others', () => {
    const [old = Buffer.alloc(0)] = keys
    const other = Buffer.alloc(32, 9)
    expect(createSessions([other, old], tokens).whoOf(issue('admin', now), now)).toBe('admin')
    expect(createSessions([other], tokens).whoOf(issue('admin', now), now)).toBeUndefined()
  })

  test('cannot be changed by a character, nor made of another', () => {
    const session = issue('view', now)
    const [, until = '', signature = ''] = session.split('.')
    const made = [
      `admin.${until}.${signature}`,
      `view.${Number(until) + 1}.${signature}`,
      `view.${until}.${'A'.repeat(43)}`,
      `view.${until}.`,
      `view.${until}.${signature}x`,
      '',
      ADMIN,
    ]
    for (const text of made) expect(whoOf(text, now)).toBeUndefined()
    for (let at = 0; at < session.length - 1; at++) {
      const changed = session.slice(0, at) + (session[at] === 'a' ? 'b' : 'a') + session.slice(at + 1)
      expect(whoOf(changed, now), changed).toBeUndefined()
    }
  })

  test('that is none is nobody', async () => {
    const { ask } = api()
    for (const cookie of ['sluice_session=', 'sluice_session=x', 'other=1', '=;;='])
      expect((await ask({ url, token: '', headers: { cookie } })).status).toBe(401)
  })
})
