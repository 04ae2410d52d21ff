import { describe, expect, test } from 'vitest'
import {
  authenticator,
  bearer,
  createTokenCheck,
  createTokenLimits,
  type Tokens,
} from '../../../../control/api/auth/tokens.ts'
import { registry } from '../../../../process/metrics.ts'
import { collectGarbage } from '../../../helpers/garbage.ts'
import { ADMIN, api, VIEW } from '../../api.ts'

function headerOf(tokens: Tokens): (header: string | undefined) => string | undefined {
  const authenticate = authenticator(tokens)
  return (header) => {
    const token = bearer(header)
    return token === undefined ? undefined : authenticate(token)
  }
}

const both = headerOf({ admin: 'admin-token-123456', view: 'view-token' })

test('the control token is the admin, the view token a reader', () => {
  expect(both('Bearer admin-token-123456')).toBe('admin')
  expect(both('Bearer view-token')).toBe('view')
})

test('the scheme is case-insensitive', () => {
  expect(both('bearer view-token')).toBe('view')
})

test('any number of spaces may follow the scheme', () => {
  expect(both('Bearer   view-token')).toBe('view')
})

test.each([
  ['no header', undefined],
  ['an empty one', ''],
  ['no token', 'Bearer '],
  ['another scheme', 'Basic admin-token-123456'],
  ['a token without scheme', 'admin-token-123456'],
  ['a beginning of the token', 'Bearer admin-token-12345'],
  ['more than the token', 'Bearer admin-token-1234567'],
  ['two tokens', 'Bearer view-token admin-token-123456'],
])('%s is nobody', (_, header) => {
  expect(both(header)).toBeUndefined()
})

test.each([
  ['a space', 'a guess'],
  ['several schemes', 'view-token, Bearer admin-token-123456'],
])('a token with %s is compared as a whole, so it counts as a wrong one', (_, token) => {
  expect(bearer(`Bearer ${token}`)).toBe(token)
})

test('without a view token there is no read-only role, not even for an empty token', () => {
  const adminOnly = headerOf({ admin: 'admin-token-123456' })
  expect(adminOnly('Bearer view-token')).toBeUndefined()
  expect(headerOf({ admin: '', view: '' })('Bearer ')).toBeUndefined()
  expect(authenticator({ admin: '', view: '' })('')).toBeUndefined()
})

const signIn = (token: string, from?: string) => ({
  method: 'POST',
  url: '/api/session',
  body: { token },
  token: '',
  ...(from !== undefined && { from }),
})

describe('after ten wrong tokens from one address', () => {
  test('wrong ones get 429, however they are sent, even from an address that sent a valid one before', async () => {
    const { ask } = api()
    expect((await ask(signIn(ADMIN))).status).toBe(204)
    for (let guess = 0; guess < 5; guess++) {
      expect((await ask(signIn('wrong'))).status).toBe(401)
      expect((await ask({ url: '/api/sources', token: 'wrong' })).status).toBe(401)
    }
    for (const asked of [signIn('wrong'), { url: '/api/sources', token: 'wrong' }])
      expect(await ask(asked)).toMatchObject({
        status: 429,
        headers: { 'retry-after': '6' },
        json: { code: 'too_many_attempts' },
      })
    expect((await ask(signIn('wrong', '203.0.113.7'))).status).toBe(401)
  })

  test('valid ones pass, so wrong ones lock no one out', async () => {
    const { ask } = api()
    for (let guess = 0; guess < 200; guess++) await ask({ url: '/api/sources', token: 'wrong' })
    for (const token of [ADMIN, VIEW]) {
      expect((await ask(signIn(token))).status).toBe(204)
      expect((await ask({ url: '/api/sources', token })).status).toBe(200)
    }
  })

  test('a request without a token is asked for one', async () => {
    const { ask } = api()
    for (let guess = 0; guess < 11; guess++) await ask(signIn('wrong'))
    expect((await ask({ url: '/api/sources', token: '' })).status).toBe(401)
  })

  test('the address is the one that a trusted proxy reports', async () => {
    const { ask } = api({}, { trustProxy: ['10.0.0.0/8'] })
    const through = (client: string) =>
      ask({ ...signIn('wrong', '10.0.0.7'), headers: { 'x-forwarded-for': client } })
    for (let guess = 0; guess < 10; guess++) await through('203.0.113.7')
    expect((await through('203.0.113.7')).status).toBe(429)
    expect((await through('203.0.113.8')).status).toBe(401)
  })

  test.each([
    ['203.0.113.7:40001', '203.0.113.7:40002'],
    ['[2001:db8::1]:40001', '[2001:db8::2]:40002'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['198.51.100.1, 203.0.113.7:40001', '198.51.100.2:9 , 203.0.113.7:40002'],
    ['203.0.113.7:1, 10.0.0.8:40001', '203.0.113.7:2, 10.0.0.9:40002'],
  ])('a proxy may append a port: %s and %s are one network', async (one, other) => {
    const { ask } = api({}, { trustProxy: ['10.0.0.0/8'] })
    const through = (client: string) =>
      ask({ ...signIn('wrong', '10.0.0.7'), headers: { 'x-forwarded-for': client } })
    for (let guess = 0; guess < 10; guess++) await through(one)
    expect((await through(other)).status).toBe(429)
    expect((await through('203.0.113.8:40001')).status).toBe(401)
  })
})

describe('after sixty sign-ins with one token from one network', () => {
  test('further ones get 429, even though the token is right; other tokens and networks pass', async () => {
    const { ask } = api()
    for (let times = 0; times < 60; times++) expect((await ask(signIn(VIEW))).status).toBe(204)
    expect(await ask(signIn(VIEW))).toMatchObject({
      status: 429,
      headers: { 'retry-after': '6' },
      json: { code: 'too_many_attempts' },
    })
    expect((await ask(signIn(ADMIN))).status).toBe(204)
    expect((await ask(signIn(VIEW, '203.0.113.7'))).status).toBe(204)
    expect((await ask({ url: '/api/sources', token: VIEW })).status).toBe(200)
  })

  test('further ones are counted, and logged as often as wrong tokens', async () => {
    const refused = async () => {
      const { values } =
        (await registry.getSingleMetric('sluice_control_refused_sign_ins_total')?.get()) ?? {}
      return values?.[0]?.value ?? 0
    }
    const before = await refused()
    const { ask, lines } = api()
    for (let times = 0; times < 80; times++) await ask(signIn(VIEW))
    const told = lines.filter((line) => line.includes('too many sign-ins'))
    expect(told).toHaveLength(10)
    expect(JSON.parse(told[0] ?? '')).toMatchObject({ audit: true, who: 'view', address: '127.0.0.1' })
    expect(lines.join()).not.toContain(VIEW)
    expect((await refused()) - before).toBe(20)
    const elsewhere = '203.0.113.7'
    for (let times = 0; times < 61; times++) await ask(signIn(VIEW, elsewhere))
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ msg: 'too many sign-ins', address: elsewhere })
  })

  test('further ones hide no wrong tokens from the log, nor do wrong tokens hide them', async () => {
    const { ask, lines } = api()
    const told = (text: string) => lines.filter((line) => line.includes(text)).length
    for (let times = 0; times < 80; times++) await ask(signIn(VIEW))
    for (let guess = 0; guess < 10; guess++) expect((await ask(signIn('wrong'))).status).toBe(401)
    expect((await ask(signIn('wrong'))).status).toBe(429)
    expect(told('wrong token')).toBe(10)
    for (let times = 0; times < 80; times++) await ask(signIn(ADMIN))
    // ten with each token
    expect(told('too many sign-ins')).toBe(20)
  })

  test('one more may pass every six seconds', () => {
    let now = 0
    const { signIn } = createTokenLimits(() => now)
    for (let times = 0; times < 60; times++) expect(signIn('view', '203.0.113.7')).toBeUndefined()
    expect(signIn('view', '203.0.113.7')).toBe(6)
    now += 6_000
    expect(signIn('view', '203.0.113.7')).toBeUndefined()
    expect(signIn('view', '203.0.113.7')).toBe(6)
  })
})

test('remembered searches take little memory, however long their filters are', () => {
  const { isRepeated } = createTokenLimits(() => 1)
  const caller = { who: 'view', by: 'bearer', address: '203.0.113.7' } as const
  // six characters of JSON, of two bytes each
  const filterOf = (userId: number) => ({ userId: `\u0100${'\u0001'.repeat(4_000)}${userId}` })
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let userId = 0; userId < 1_000; userId++) expect(isRepeated(caller, filterOf(userId))).toBe(false)
  collectGarbage()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(8_000_000)
  expect(isRepeated(caller, filterOf(999))).toBe(true)
})

function judging() {
  let now = 0
  const checkToken = createTokenCheck(
    { admin: ADMIN },
    createTokenLimits(() => now),
    { sessions: { read: () => undefined }, onWrong: () => {} },
  )
  /** Retry-After in seconds. */
  const wrong = (ip = '203.0.113.7') => {
    const result = checkToken('wrong', ip)
    return result && 'headers' in result ? result.headers?.['retry-after'] : result
  }
  const tenWrong = (ip?: string) => {
    for (let guess = 0; guess < 10; guess++) wrong(ip)
  }
  const pass = (seconds: number) => {
    now += seconds * 1_000
  }
  return { wrong, tenWrong, pass }
}

test('the limit allows one more wrong token every six seconds, and ten after a minute', () => {
  const { wrong, tenWrong, pass } = judging()
  tenWrong()
  expect(wrong()).toBe('6')
  pass(6)
  expect(wrong()).toBeUndefined()
  expect(wrong()).toBe('6')
  pass(60)
  tenWrong()
  expect(wrong()).toBe('6')
})

test.each([
  ['one network of IPv6', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
  ['two networks of IPv6', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['an IPv4 address within IPv6 and outside', '::ffff:203.0.113.7', '203.0.113.7', true],
  ['two IPv4 addresses', '203.0.113.7', '203.0.113.8', false],
])('%s: whether they count as one', (_, one, other, isSame) => {
  const { wrong, tenWrong } = judging()
  tenWrong(one)
  expect(wrong(other)).toBe(isSame ? '6' : undefined)
})
