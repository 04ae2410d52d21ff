import { describe, expect, test } from 'vitest'
import { createGuesses } from '../../control/session/guesses.ts'
import { createJudge } from '../../control/session/judge.ts'
import { ADMIN, api } from './api.ts'

const signIn = (token: string, from?: string) => ({
  method: 'POST',
  url: '/api/session',
  body: { token },
  token: '',
  ...(from !== undefined && { from }),
})

describe('after ten wrong tokens from one address', () => {
  test('no other is looked at, not even the right one, whichever way it comes', async () => {
    const { ask } = api()
    for (let guess = 0; guess < 5; guess++) {
      expect((await ask(signIn('wrong'))).status).toBe(401)
      expect((await ask({ url: '/api/sources', token: 'wrong' })).status).toBe(401)
    }
    for (const asked of [signIn(ADMIN), { url: '/api/sources' }, signIn('wrong')])
      expect(await ask(asked)).toMatchObject({
        status: 429,
        headers: { 'retry-after': '6' },
        json: { code: 'too_many_attempts' },
      })
    expect((await ask(signIn(ADMIN, '203.0.113.7'))).status).toBe(204)
  })

  test('who has a session goes on, and so do those who bring nothing', async () => {
    const { ask } = api()
    const { headers } = await ask(signIn(ADMIN, '203.0.113.7'))
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    for (let guess = 0; guess < 11; guess++) await ask(signIn('wrong'))
    expect((await ask({ url: '/api/sources', token: '', headers: { cookie } })).status).toBe(200)
    expect((await ask({ url: '/api/sources', token: '' })).status).toBe(401)
  })

  test('the address is the one that a trusted proxy says', async () => {
    const { ask } = api({}, { trustProxy: ['10.0.0.0/8'] })
    const through = (client: string, token: string) =>
      ask({ ...signIn(token, '10.0.0.7'), headers: { 'x-forwarded-for': client } })
    for (let guess = 0; guess < 10; guess++) await through('203.0.113.7', 'wrong')
    expect((await through('203.0.113.7', ADMIN)).status).toBe(429)
    expect((await through('203.0.113.8', ADMIN)).status).toBe(204)
  })
})

/** A clock that stands still until it is told to go on. */
function judging() {
  let now = 0
  const judge = createJudge(
    { admin: ADMIN },
    createGuesses(() => now),
  )
  const outcome = (token: string, ip = '203.0.113.7') => {
    const judged = judge(token, ip)
    return typeof judged === 'object' ? judged.headers?.['retry-after'] : judged
  }
  const wrong = (times: number, ip?: string) => {
    for (let guess = 0; guess < times; guess++) outcome('wrong', ip)
  }
  const pass = (seconds: number) => {
    now += seconds * 1_000
  }
  return { outcome, wrong, pass }
}

describe('a token is looked at again', () => {
  test('one more every six seconds, ten after a minute', () => {
    const { outcome, wrong, pass } = judging()
    wrong(10)
    expect(outcome(ADMIN)).toBe('6')
    pass(6)
    expect(outcome('wrong')).toBeUndefined()
    expect(outcome(ADMIN)).toBe('6')
    pass(60)
    wrong(9)
    expect(outcome(ADMIN)).toBe('admin')
  })
})

describe('where a right token came from before', () => {
  test('right ones go on, whatever wrong ones come from there', () => {
    const { outcome, wrong } = judging()
    expect(outcome(ADMIN)).toBe('admin')
    wrong(20)
    expect(outcome('wrong')).toBe('6')
    expect(outcome(ADMIN)).toBe('admin')
  })

  test('that is forgotten half a day after the last one', () => {
    const { outcome, wrong, pass } = judging()
    outcome(ADMIN)
    pass(12 * 60 * 60 + 1)
    wrong(10)
    expect(outcome(ADMIN)).toBe('6')
  })
})

describe('after a hundred wrong tokens from many addresses', () => {
  test('nobody gets in whose address is not known', () => {
    const { outcome, wrong, pass } = judging()
    outcome(ADMIN, '203.0.113.1')
    for (let host = 0; host < 100; host++) wrong(1, `198.51.100.${host}`)
    expect(outcome(ADMIN, '192.0.2.1')).toBe('1')
    expect(outcome(ADMIN, '203.0.113.1')).toBe('admin')
    pass(1)
    expect(outcome(ADMIN, '192.0.2.1')).toBe('admin')
  })
})

test.each([
  ['one network of IPv6', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
  ['two networks of IPv6', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['an IPv4 address within IPv6 and outside', '::ffff:203.0.113.7', '203.0.113.7', true],
  ['two IPv4 addresses', '203.0.113.7', '203.0.113.8', false],
])('%s: whether they count as one', (_, one, other, isSame) => {
  const { outcome, wrong } = judging()
  wrong(10, one)
  expect(outcome(ADMIN, other)).toBe(isSame ? '6' : 'admin')
})
