import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { returningTo, signOnFailure, signOnUrl } from '../../../../console/src/api/single-sign-on.ts'
import { nameOf, roleOf } from '../../../../control/api/auth/oidc.ts'
import { createSessions, SESSION_S } from '../../../../control/api/auth/sessions.ts'
import {
  ACCESS_TOKEN,
  CLIENT,
  type IdentityProvider,
  identityProvider,
} from '../../../helpers/identity-provider.ts'
import { ADMIN, api, VIEW } from '../../api.ts'

const begin = '/api/single-sign-on'
const CONSOLE = 'http://localhost:8081'
const SCOPE = 'openid email groups'
const XHR = { 'x-requested-with': 'console' }

const allowed = {
  admins: [{ name: 'email', value: 'ann@example.com' }],
  viewers: [{ name: 'groups', value: 'support' }],
}

function withSignOn(provider: Pick<IdentityProvider, 'issuer'>, more: { clientSecret?: string } = {}) {
  const oidc = { issuer: provider.issuer, ...CLIENT, scope: SCOPE, consoleUrl: CONSOLE, ...allowed, ...more }
  return api({}, { oidc, tokens: { admin: ADMIN, view: VIEW, singleSignOn: 'settings' } })
}

type Api = ReturnType<typeof api>

const cookiesOf = ({ headers }: Awaited<ReturnType<Api['ask']>>) =>
  [headers['set-cookie'] ?? []].flat().map(String)
const pairOf = (cookie: string) => cookie.split(';')[0] ?? ''

/** Goes to the provider and back, as a browser does. */
async function visit(
  { ask }: Pick<Api, 'ask'>,
  provider: IdentityProvider,
  { returnTo = '', alter = (address: string) => address } = {},
) {
  const begun = await ask({ url: begin + returnTo, token: '' })
  const cookie = cookiesOf(begun).map(pairOf).join('; ')
  const back = alter(await provider.visit(String(begun.headers.location)))
  expect(back).toMatch(`${CONSOLE}${begin}/callback?`)
  const answer = await ask({ url: back.replace(CONSOLE, ''), token: '', headers: { cookie } })
  return { begun, back, cookie, answer }
}

/** As the browser asks afterwards. */
const asSignedIn = ({ ask }: Pick<Api, 'ask'>, answer: Awaited<ReturnType<Api['ask']>>) => {
  const cookie =
    cookiesOf(answer)
      .map(pairOf)
      .find((each) => each.startsWith('sluice_session=')) ?? ''
  return (asked: Parameters<typeof ask>[0]) =>
    ask({ ...asked, token: '', headers: { cookie, 'sec-fetch-site': 'same-origin', ...asked.headers } })
}

const failure = (code: string) => ({ status: 302, headers: { location: `/#sign-in-error=${code}` } })

const audited = (lines: readonly string[]) =>
  lines.map((line) => JSON.parse(line)).filter(({ audit }) => audit)

describe('single sign-on', () => {
  test('signs a person in, and names the person in the session and the audit log', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    const { begun, answer } = await visit(control, provider, { returnTo: '?returnTo=/sources%3Fq=1' })
    const asked = new URL(String(begun.headers.location)).searchParams
    expect(Object.fromEntries(asked)).toMatchObject({
      ...{ response_type: 'code', client_id: 'sluice', scope: SCOPE },
      ...{ redirect_uri: `${CONSOLE}${begin}/callback`, code_challenge_method: 'S256' },
    })
    expect(answer).toMatchObject({ status: 302, text: '', headers: { location: '/sources?q=1' } })
    const browse = asSignedIn(control, answer)
    const session = { who: 'admin', workspaceId: null, person: 'ann@example.com' }
    expect((await browse({ url: '/api/session' })).json).toMatchObject(session)
    const made = { method: 'POST', url: '/api/sources', body: { id: 'shop', name: 'Shop' } }
    expect((await browse(made)).json).toMatchObject({ code: 'csrf' })
    expect((await browse({ ...made, headers: XHR })).status).toBe(201)
    const by = { who: 'admin', person: 'ann@example.com', address: '127.0.0.1' }
    expect(audited(control.lines)).toMatchObject([
      { ...by, by: 'single-sign-on', what: 'session', outcome: 'created', subject: 'id-of-ann' },
      { ...by, by: 'cookie', what: 'source', outcome: 'created', id: 'shop' },
    ])
  })

  test('keeps its secrets in a cookie that scripts cannot read, for ten minutes, and removes it', async () => {
    const provider = await identityProvider()
    const { begun, answer } = await visit(withSignOn(provider), provider)
    const [kept = ''] = cookiesOf(begun)
    expect(kept.split('; ').slice(1)).toEqual(['Max-Age=600', 'Path=/', 'HttpOnly', 'SameSite=Lax'])
    const [session = '', removed = ''] = cookiesOf(answer)
    expect(session).toMatch(/^sluice_session=admin~[\w.-]+; Max-Age=43200; .*SameSite=Strict$/)
    expect(removed).toMatch(/^sluice_single_sign_on=; Max-Age=0; /)
  })

  test('gives viewers a session that may only read', async () => {
    const provider = await identityProvider()
    provider.claims = { sub: 'id-of-bob', preferred_username: 'bob', groups: ['sales', 'support'] }
    const control = withSignOn(provider)
    const browse = asSignedIn(control, (await visit(control, provider)).answer)
    expect((await browse({ url: '/api/session' })).json).toMatchObject({ who: 'view', person: 'bob' })
    const change = { method: 'POST', url: '/api/sources', body: { name: 'Shop' }, headers: XHR }
    expect((await browse(change)).json).toMatchObject({ code: 'read_only' })
  })

  test('refuses people whom neither list includes, and logs who it was', async () => {
    const provider = await identityProvider()
    provider.claims = {
      sub: 'id-of-eve',
      email: 'ann@example.com',
      email_verified: false,
      preferred_username: 'eve',
    }
    const control = withSignOn(provider)
    const { answer } = await visit(control, provider)
    expect(answer).toMatchObject(failure('not_allowed'))
    expect(cookiesOf(answer).join()).not.toContain('sluice_session')
    expect(audited(control.lines)).toMatchObject([{ level: 40, person: 'eve', subject: 'id-of-eve' }])
  })

  test.each([
    ['without its cookie', () => ({ cookie: '' })],
    ['with the cookie of another sign-in', (other: { cookie: string }) => ({ cookie: other.cookie })],
    ['with a broken cookie', () => ({ cookie: 'sluice_single_sign_on=x.y.z' })],
    ['with the state of another sign-in', (other: { state: string }) => ({ state: other.state })],
    ['without a state', () => ({ state: '' })],
  ])('a return %s does not reach the provider', async (_, change) => {
    const provider = await identityProvider()
    const { ask } = withSignOn(provider)
    const start = async () => {
      const begun = await ask({ url: begin, token: '' })
      const back = new URL(await provider.visit(String(begun.headers.location)))
      return {
        back,
        state: back.searchParams.get('state') ?? '',
        cookie: cookiesOf(begun).map(pairOf).join(),
      }
    }
    const [own, other] = [await start(), await start()]
    const { cookie, state } = { ...own, ...change(other) }
    own.back.searchParams.set('state', state)
    const url = own.back.pathname + own.back.search
    expect(await ask({ url, token: '', headers: { cookie } })).toMatchObject({
      ...failure('expired'),
      status: 303,
    })
    expect(provider.paths).not.toContain('/token')
  })

  test('accepts claims from UserInfo, but not those of another person', async () => {
    const provider = await identityProvider()
    provider.claims = { sub: 'id-of-bob' }
    provider.userInfo = { email: 'bob@example.com', email_verified: true, groups: ['support'] }
    const control = withSignOn(provider)
    const browse = asSignedIn(control, (await visit(control, provider)).answer)
    const session = { who: 'view', person: 'bob@example.com' }
    expect((await browse({ url: '/api/session' })).json).toMatchObject(session)
    // a flag of one source must not verify the address of the other
    provider.claims = { sub: 'id-of-bob', email: 'ann@example.com' }
    const mixed = asSignedIn(control, (await visit(control, provider)).answer)
    expect((await mixed({ url: '/api/session' })).json).toMatchObject(session)
    provider.claims = { sub: 'id-of-bob', email_verified: true }
    provider.userInfo = { email: 'ann@example.com', email_verified: false }
    expect((await visit(control, provider)).answer).toMatchObject(failure('not_allowed'))
    provider.userInfo = { ...provider.userInfo, sub: 'id-of-ann' }
    expect((await visit(control, provider)).answer).toMatchObject(failure('failed'))
  })

  test('an old tab that returns does not end the sign-in of a newer one', async () => {
    const provider = await identityProvider()
    const { ask } = withSignOn(provider)
    const start = async () => {
      const begun = await ask({ url: begin, token: '' })
      const back = await provider.visit(String(begun.headers.location))
      return { url: back.replace(CONSOLE, ''), cookie: cookiesOf(begun).map(pairOf).join() }
    }
    const [old, newer] = [await start(), await start()]
    const stale = await ask({ url: old.url, token: '', headers: { cookie: newer.cookie } })
    expect(stale).toMatchObject({ ...failure('expired'), status: 303 })
    expect(cookiesOf(stale)).toEqual([])
    const answer = await ask({ url: newer.url, token: '', headers: { cookie: newer.cookie } })
    expect(answer).toMatchObject({ headers: { location: '/' } })
  })

  test('a person who cancels at the provider is told so', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    const alter = (address: string) => address.replace(/code=[^&]*/, 'error=access_denied')
    expect((await visit(control, provider, { alter })).answer).toMatchObject(failure('cancelled'))
    expect(control.lines).toEqual([])
  })

  test('another error of the provider is logged, in short', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    const error = `error=invalid_scope&error_description=${'x'.repeat(1_000)}`
    const alter = (address: string) => address.replace(/code=[^&]*/, error)
    expect((await visit(control, provider, { alter })).answer).toMatchObject(failure('failed'))
    expect(control.lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, msg: 'single sign-on failed', code: 'invalid_scope', description: 'x'.repeat(200) },
    ])
  })

  test.each([
    ['for another sign-in', { claims: { nonce: 'other' } }],
    ['of another issuer', { claims: { iss: 'http://127.0.0.1:1' } }],
    ['for another client', { claims: { aud: 'other' } }],
    ['that has expired', { claims: { exp: Math.floor(Date.now() / 1000) - 120 } }],
    ['without a subject', { claims: { sub: undefined } }],
    ['signed with an unknown key', { key: 'unknown' } as const],
    ['without a signature', { header: { alg: 'none' } }],
  ])('refuses an ID token %s', async (_, wrong) => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    provider.wrong = wrong
    const { answer } = await visit(control, provider)
    expect(answer).toMatchObject(failure('failed'))
    expect(cookiesOf(answer).join()).not.toContain('sluice_session')
  })

  test('refuses metadata of another issuer', async () => {
    const provider = await identityProvider()
    const { ask } = withSignOn(provider)
    provider.wrong = { discovery: { issuer: 'http://127.0.0.1:1' } }
    expect(await ask({ url: begin, token: '' })).toMatchObject(failure('failed'))
  })

  test.each(['http://127.0.0.1:1', 'https://login.microsoftonline.com/{tenantid}/v2.0'])(
    'refuses metadata of issuer %s, even from the configured address',
    async (issuer) => {
      const provider = await identityProvider()
      const control = withSignOn({ issuer: `${provider.issuer}/.well-known/openid-configuration` })
      provider.wrong = { discovery: { issuer } }
      expect(await control.ask({ url: begin, token: '' })).toMatchObject(failure('failed'))
      expect(control.lines.join()).toContain('OIDC_ISSUER')
    },
  )

  test('a response over 1 MB is not read', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    provider.wrong = { discovery: { padding: 'x'.repeat(1024 ** 2) } }
    expect(await control.ask({ url: begin, token: '' })).toMatchObject(failure('failed'))
    expect(JSON.parse(control.lines[0] ?? '').reason).toContain('larger than 1 MB')
  })

  test('a code cannot be used with another sign-in', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    const stolen = new URL((await visit(control, provider)).back).searchParams.get('code')
    const other = new URL(
      await provider.visit(String((await control.ask({ url: begin, token: '' })).headers.location)),
    ).searchParams.get('code')
    for (const code of [stolen, other]) {
      const alter = (address: string) => address.replace(/code=[^&]*/, `code=${code}`)
      expect((await visit(control, provider, { alter })).answer).toMatchObject(failure('failed'))
    }
  })

  test('works again once the provider answers again', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    provider.isAway = true
    expect(await control.ask({ url: begin, token: '' })).toMatchObject(failure('failed'))
    provider.isAway = false
    const begun = await control.ask({ url: begin, token: '' })
    const back = await provider.visit(String(begun.headers.location))
    provider.isAway = true
    const headers = { cookie: cookiesOf(begun).map(pairOf).join() }
    const returned = { url: back.replace(CONSOLE, ''), token: '', headers }
    expect(await control.ask(returned)).toMatchObject(failure('failed'))
    provider.isAway = false
    expect((await visit(control, provider)).answer).toMatchObject({ headers: { location: '/' } })
    expect(provider.paths.filter((path) => path.includes('well-known'))).toHaveLength(2)
  })

  test.each([
    ['client_secret_basic', undefined],
    ['client_secret_basic', ['client_secret_basic']],
    ['client_secret_post', ['client_secret_basic', 'client_secret_post']],
  ])('authenticates by %s if the provider lists %o', async (method, listed) => {
    const provider = await identityProvider(listed)
    const control = withSignOn(provider)
    expect((await visit(control, provider)).answer).toMatchObject({ headers: { location: '/' } })
    expect(provider.authentications).toEqual([method])
  })

  test('a wrong client secret fails, and the log says why', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider, { clientSecret: 'wrong-secret' })
    expect((await visit(control, provider)).answer).toMatchObject(failure('failed'))
    expect(control.lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, msg: 'single sign-on failed', status: 401 },
    ])
  })

  test('logs no secrets, whatever fails', async () => {
    const provider = await identityProvider()
    const control = withSignOn(provider)
    const { back, cookie } = await visit(control, provider)
    provider.wrong = { claims: { nonce: 'other' } }
    await visit(control, provider)
    await visit(control, provider, { alter: (address) => address.replace(/code=[^&]*/, 'code=stolen-code') })
    const other = await identityProvider()
    other.userInfo = {}
    // an error of `Headers` would quote it
    other.accessToken = `${ACCESS_TOKEN}\nof-two-lines`
    const refused = withSignOn(other)
    expect((await visit(refused, other)).answer).toMatchObject(failure('failed'))
    const log = [...control.lines, ...control.auditTopic, ...refused.lines].join('\n')
    const code = new URL(back).searchParams.get('code') ?? ''
    const secrets = cookie
      .replace(/^[^=]*=/, '')
      .split('.')
      .filter(Boolean)
    for (const secret of [CLIENT.clientSecret, ACCESS_TOKEN, code, 'stolen-code', ...secrets])
      expect(log).not.toContain(secret)
    expect(log).toContain('single sign-on failed')
  })

  test.each(['//evil.example', '/\\evil.example', 'https://evil.example', '/a b', '/%0a', 'x'])(
    'does not return to %s',
    async (page) => {
      const { ask } = withSignOn({ issuer: 'http://127.0.0.1:1' })
      const answer = await ask({
        url: `${begin}?returnTo=${encodeURIComponent(page.replace('%0a', '\n'))}`,
        token: '',
      })
      expect(answer).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
    },
  )

  test('a changed cookie cannot redirect to another host', async () => {
    const provider = await identityProvider()
    const { ask } = withSignOn(provider)
    const begun = await ask({ url: begin, token: '' })
    const back = await provider.visit(String(begun.headers.location))
    const planted = Buffer.from('//evil.example').toString('base64url')
    const cookie = pairOf(cookiesOf(begun)[0] ?? '').replace(/[^.]*$/, planted)
    const answer = await ask({ url: back.replace(CONSOLE, ''), token: '', headers: { cookie } })
    expect(answer).toMatchObject({ status: 302, headers: { location: '/' } })
  })

  test('accepts every page that the console asks to return to', async () => {
    const { ask } = withSignOn({ issuer: 'http://127.0.0.1:1' })
    const page = fc.string({ unit: 'binary-ascii', maxLength: 1_200 }).map((rest) => `/${rest}`)
    await fc.assert(
      fc.asyncProperty(page, async (path) => {
        const url = returningTo(`${CONSOLE}${begin}`, path).replace(CONSOLE, '')
        expect((await ask({ url, token: '' })).status).toBe(302)
      }),
      { numRuns: 100 },
    )
    expect(returningTo(begin, '/sources?q=1')).toBe(`${begin}?returnTo=%2Fsources%3Fq%3D1`)
  })

  test('limits how often a network begins a sign-in', async () => {
    const { ask } = withSignOn({ issuer: 'http://127.0.0.1:1' })
    for (let count = 0; count < 120; count++) expect((await ask({ url: begin, token: '' })).status).toBe(302)
    expect(await ask({ url: begin, token: '' })).toMatchObject({
      status: 429,
      json: { code: 'too_many_attempts', message: expect.stringContaining('Too many sign-ins') },
    })
    expect((await ask({ url: begin, token: '', from: '203.0.113.7' })).status).toBe(302)
  })

  test('says so if it is not configured', async () => {
    for (const url of [begin, `${begin}/callback?code=1&state=2`])
      expect(await api().ask({ url, token: '' })).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })
})

describe('sessions of people', () => {
  const keys = [Buffer.alloc(32, 7)]
  const tokens = { admin: ADMIN, view: VIEW, singleSignOn: 'settings' }
  const { issue, read } = createSessions(keys, tokens, () => false)
  const now = Date.now()
  const ann = issue({ who: 'view', person: 'ann@example.com' }, { now })

  const names = fc
    .string({ minLength: 1, maxLength: 200, unit: 'grapheme' })
    .filter((name) => name.length <= 200 && name.isWellFormed())

  test('keep any name', () => {
    fc.assert(
      fc.property(names, fc.boolean(), (person, isAdmin) => {
        const identity = { who: isAdmin ? 'admin' : 'view', person } as const
        const { text, session } = issue(identity, { now })
        expect(read(text, now)).toEqual({ ...identity, session })
        expect(text).toMatch(/^[!-:<-~]+$/)
      }),
    )
  })

  test('cannot be changed to another person, role or token', () => {
    const [name = ''] = /~[\w-]+/.exec(ann.text) ?? []
    const bob = `~${Buffer.from('bob@example.com').toString('base64url')}`
    for (const text of [
      ann.text.replace('view', 'admin'),
      ann.text.replace(name, ''),
      ann.text.replace(name, bob),
      issue({ who: 'view' }, { now }).text.replace('view', `view${name}`),
    ])
      expect(read(text, now)).toBeUndefined()
  })

  test('end with the settings of single sign-on or the admin token, but not the view token', () => {
    const others = [
      { ...tokens, singleSignOn: 'others' },
      { ...tokens, singleSignOn: undefined },
    ]
    for (const other of [...others, { ...tokens, admin: 'another-token-123' }])
      expect(createSessions(keys, other, () => false).read(ann.text, now)).toBeUndefined()
    const { read: readOther } = createSessions(keys, { ...tokens, view: undefined }, () => false)
    expect(readOther(ann.text, now)).toMatchObject({ person: 'ann@example.com' })
    expect(readOther(ann.text, now + SESSION_S * 1000)).toBeUndefined()
  })
})

describe('the role of a person', () => {
  const listed = {
    admins: [
      { name: 'email', value: 'Ann@Example.com' },
      { name: 'roles', value: 'Sluice.Admin' },
      { name: 'roles', value: 'true' },
    ],
    viewers: [
      { name: 'email', value: '@Example.com' },
      { name: 'hd', value: 'example.org' },
    ],
  }
  const verified = (email: string) => ({ email, email_verified: true })

  test.each<[string, object, string | undefined]>([
    ['by email', verified('ann@example.com'), 'admin'],
    ['by email, whatever its capitalization', verified('ANN@example.COM'), 'admin'],
    ['by an email verified as a string', { email: 'ann@example.com', email_verified: 'true' }, 'admin'],
    ['not by an email that is not verified', { email: 'ann@example.com', email_verified: false }, undefined],
    ['not by an email without email_verified', { email: 'ann@example.com' }, undefined],
    ['by domain', verified('bob@example.com'), 'view'],
    ['not by the domain of a subdomain', verified('bob@evil.example.com'), undefined],
    ['not by the end of a domain', verified('bob@notexample.com'), undefined],
    ['by a claim', { hd: 'example.org' }, 'view'],
    ['by a claim that is true or a number', { roles: true, hd: 5 }, 'admin'],
    ['by one of several values', { roles: ['Other', 'Sluice.Admin'] }, 'admin'],
    ['not by a value with other capitalization', { roles: ['sluice.admin'] }, undefined],
    ['not by part of a value', { roles: 'Sluice.Admins' }, undefined],
    ['the higher of two', { hd: 'example.org', roles: 'Sluice.Admin' }, 'admin'],
    ['not by an object', { roles: { 'Sluice.Admin': true } }, undefined],
  ])('%s', (_, claims, role) => {
    expect(roleOf({ sub: 'x', ...claims }, listed)).toBe(role)
  })

  test.each(['jac\u212a@example.com', 'jack@exa\uff4dple.com'])(
    'not by %s, which only looks alike',
    (email) => {
      const admins = [{ name: 'email', value: 'Jack@example.com' }]
      expect(roleOf({ sub: 'x', ...verified('JACK@example.com') }, { admins, viewers: [] })).toBe('admin')
      expect(roleOf({ sub: 'x', ...verified(email) }, { admins, viewers: [] })).toBeUndefined()
    },
  )

  test('needs a listed value, whatever the claims are', () => {
    const claims = fc.dictionary(
      fc.constantFrom('email', 'hd', 'roles', 'email_verified', 'sub'),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(claims, (given) => {
        const isListed = /ann@example|@example|example\.org|Sluice\.Admin|true/i.test(JSON.stringify(given))
        expect(isListed || roleOf({ sub: 'x', ...given } as never, listed) === undefined).toBe(true)
      }),
    )
  })
})

test.each([
  [
    'the verified email',
    { email: 'Ann@example.com', email_verified: true, preferred_username: 'ann' },
    'ann@example.com',
  ],
  ['the user name', { email: 'ann@example.com', preferred_username: 'ann' }, 'ann'],
  ['the id', {}, 'id-1'],
  ['the id, if the name could mislead', { preferred_username: 'ann\u202e' }, 'id-1'],
  ['the id, if the name has spaces', { preferred_username: 'ann (admin), token' }, 'id-1'],
  ['the id, if the name is too long', { preferred_username: 'a'.repeat(201) }, 'id-1'],
])('people are named by %s', (_, claims, name) => {
  expect(nameOf({ sub: 'id-1', ...claims })).toBe(name)
})

test('the console explains each failure, and shows the button only if single sign-on is configured', () => {
  for (const code of ['expired', 'cancelled', 'not_allowed', 'failed'])
    expect(signOnFailure(`#sign-in-error=${code}`)).toMatch(/\.$/)
  for (const hash of ['', '#sign-in-error=', '#sign-in-error=toString', '#token=x'])
    expect(signOnFailure(hash)).toBeUndefined()
  const page = (content: string | null) => ({ querySelector: () => ({ getAttribute: () => content }) })
  expect(signOnUrl(page(CONSOLE + begin))).toBe(CONSOLE + begin)
  for (const content of ['', '__SLUICE_SINGLE_SIGN_ON__', null])
    expect(signOnUrl(page(content))).toBeUndefined()
})
