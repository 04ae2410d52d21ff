import { describe, expect, onTestFinished, test } from 'vitest'
import { createResolver, type Replies, type ResolverOptions, resolvedFrom } from '../../egress/resolve.ts'
import { type DnsReply, nameServer, type Question } from './name-server.ts'

const SIX = '2606:4700:0:0:0:0:0:1'
const hosts = new Map([['in-the-file', [{ address: '10.0.0.5', family: 4 }]]])

async function names(
  say: (question: Question) => DnsReply | Promise<DnsReply>,
  more: Partial<ResolverOptions> = {},
) {
  const { servers, asked } = await nameServer(say)
  let now = 1_000
  const { addressesOf, close } = createResolver({ hosts, servers, clock: { now: () => now }, ...more })
  onTestFinished(close)
  const pass = (ms: number) => {
    now += ms
  }
  const where = async (host: string) => (await addressesOf(host)).map(({ address }) => address)
  return { where, asked, pass }
}

const onlyA =
  (...addresses: string[]) =>
  ({ type }: Question): DnsReply => ({ addresses: type === 'A' ? addresses : [], ttl: 30 })

describe('a name', () => {
  test('has the addresses of its A and AAAA records', async () => {
    const { where } = await names(({ type }) => ({
      addresses: type === 'A' ? ['8.8.8.8', '8.8.4.4'] : [SIX],
    }))
    expect(await where('crm.example')).toEqual(['8.8.8.8', '8.8.4.4', '2606:4700::1'])
  })

  test('in the hosts file or below localhost is not looked up', async () => {
    const { where, asked } = await names(() => 'silence')
    expect(await where('In-The-File.')).toEqual(['10.0.0.5'])
    expect(await where('app.localhost')).toEqual(['127.0.0.1', '::1'])
    expect(asked).toEqual([])
  })

  test('is queried once for concurrent lookups, in any spelling', async () => {
    const { where, asked } = await names(onlyA('8.8.8.8'))
    await Promise.all(['crm.example', 'CRM.example', 'crm.example.'].map(where))
    expect(asked.map(({ name, type }) => `${name} ${type}`).sort()).toEqual([
      'crm.example A',
      'crm.example AAAA',
    ])
  })

  test('is cached for as long as its records say, then queried again', async () => {
    const { where, asked, pass } = await names(onlyA('8.8.8.8'))
    await where('crm.example')
    pass(29_999)
    await where('crm.example')
    expect(asked).toHaveLength(2)
    pass(2)
    await where('crm.example')
    expect(asked).toHaveLength(4)
  })

  test('evicts the oldest when the cache is full', async () => {
    const { where, asked } = await names(onlyA('8.8.8.8'), { maxNames: 2 })
    for (const host of ['a.example', 'b.example', 'c.example', 'c.example', 'b.example', 'a.example'])
      await where(host)
    expect(asked.filter(({ type }) => type === 'A').map(({ name }) => name)).toEqual([
      'a.example',
      'b.example',
      'c.example',
      'a.example',
    ])
  })

  test('evicted during its lookup still answers the waiting callers', async () => {
    const { where } = await names(onlyA('8.8.8.8'), { maxNames: 1 })
    const found = await Promise.all(['a.example', 'b.example', 'c.example'].map(where))
    expect(found).toEqual([['8.8.8.8'], ['8.8.8.8'], ['8.8.8.8']])
  })
})

describe('a name without an address', () => {
  test.each([
    ['does not exist', 3, 'ENOTFOUND'],
    ['has no records', 0, 'ENOTFOUND'],
    ['cannot be looked up by the server', 2, 'ESERVFAIL'],
    ['is refused by the server', 5, 'EREFUSED'],
  ])('that %s is an error with a code', async (_, rcode, code) => {
    const { where } = await names(() => ({ rcode }))
    await expect(where('crm.example')).rejects.toMatchObject({ name: 'NameNotResolved', code })
  })

  test('is queried again after a second', async () => {
    let exists = false
    const { where, pass } = await names((question) => (exists ? onlyA('8.8.8.8')(question) : { rcode: 3 }))
    await expect(where('crm.example')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    exists = true
    await expect(where('crm.example')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    pass(1_001)
    expect(await where('crm.example')).toEqual(['8.8.8.8'])
  })

  test('that is not a valid name is an error too', async () => {
    const { where } = await names(() => 'silence')
    await expect(where('a..b')).rejects.toMatchObject({ code: 'EBADNAME' })
  })
})

describe('a name server that', () => {
  test('is down does not count as a refusal by the receiver', async () => {
    const { addressesOf } = createResolver({ hosts, servers: ['127.0.0.1:1'] })
    await expect(addressesOf('crm.example')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })

  const limits = { limitMs: 300, graceMs: 50 }

  test('never answers holds a lookup no longer than its limit', async () => {
    const { where } = await names(() => 'silence', { limits })
    const start = performance.now()
    await expect(where('crm.example')).rejects.toMatchObject({ code: 'ETIMEOUT' })
    const took = performance.now() - start
    expect(took).toBeGreaterThanOrEqual(299)
    // c-ares's own limits are 7 s
    expect(took).toBeLessThan(5_000)
  })

  test('never answers for one family delays the other only a little', async () => {
    const { where } = await names(
      (question) => (question.type === 'A' ? onlyA('8.8.8.8')(question) : 'silence'),
      { limits: { ...limits, limitMs: 60_000 } },
    )
    expect(await where('crm.example')).toEqual(['8.8.8.8'])
  })

  test('loses the A query is asked again before only the AAAA counts: this machine may have no IPv6', async () => {
    let askedA = 0
    const { where } = await names((question) => {
      if (question.type === 'AAAA') return { addresses: [SIX] }
      askedA += 1
      return askedA > 1 ? onlyA('8.8.8.8')(question) : 'silence'
    })
    expect(await where('crm.example')).toEqual(['8.8.8.8', '2606:4700::1'])
  })

  test('fails AAAA does not affect a valid A', async () => {
    const { where } = await names((question) =>
      question.type === 'A' ? onlyA('8.8.8.8')(question) : { rcode: 2 },
    )
    expect(await where('crm.example')).toEqual(['8.8.8.8'])
  })

  test('loses the first query is queried again in time', async () => {
    let asked = 0
    const { where } = await names((question) => (++asked > 2 ? onlyA('8.8.8.8')(question) : 'silence'))
    expect(await where('crm.example')).toEqual(['8.8.8.8'])
  })
})

const records = (...addresses: string[]): Replies['a'] => ({
  records: addresses.map((address) => ({ address, ttl: 30 })),
})
const ttl = (...ttls: number[]): Replies['a'] => ({
  records: ttls.map((each) => ({ address: '8.8.8.8', ttl: each })),
})
const failed = (code: string): Replies['a'] => ({ code })

test('addresses of both families are used', () => {
  expect(resolvedFrom({ a: records('8.8.8.8', '8.8.4.4'), aaaa: records('2606:4700::1') })).toEqual({
    addresses: [
      { address: '8.8.8.8', family: 4 },
      { address: '8.8.4.4', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ],
    ttlMs: 30_000,
  })
})

test.each(['ENODATA', 'ESERVFAIL', 'ETIMEOUT', 'ENOTFOUND', 'EREFUSED'])(
  'one family is enough when the other fails with %s',
  (code) => {
    expect(resolvedFrom({ a: records('8.8.8.8'), aaaa: failed(code) })).toMatchObject({
      addresses: [{ family: 4 }],
    })
    expect(resolvedFrom({ a: failed(code), aaaa: records('2606:4700::1') })).toMatchObject({
      addresses: [{ family: 6 }],
    })
  },
)

test.each([
  ['ENOTFOUND', 'ENOTFOUND', 'ENOTFOUND'],
  ['ENODATA', 'ENODATA', 'ENOTFOUND'],
  ['ENODATA', 'ETIMEOUT', 'ETIMEOUT'],
  ['ESERVFAIL', 'ENODATA', 'ESERVFAIL'],
  ['ECONNREFUSED', 'ECONNREFUSED', 'ESERVFAIL'],
  ['EBADNAME', 'EBADNAME', 'EBADNAME'],
])('without any address: %s and %s are %s, for a second', (a, aaaa, code) => {
  expect(resolvedFrom({ a: failed(a), aaaa: failed(aaaa) })).toEqual({ code, ttlMs: 1_000 })
})

test('without records there is no address', () => {
  expect(resolvedFrom({ a: records(), aaaa: failed('ENODATA') })).toMatchObject({ code: 'ENOTFOUND' })
})

describe('an answer is cached', () => {
  test.each([
    [ttl(0), 1_000],
    [ttl(7), 7_000],
    [ttl(40, 7), 7_000],
    [ttl(86_400), 60_000],
  ])('for its shortest TTL, within bounds: %j', (a, ttlMs) => {
    expect(resolvedFrom({ a, aaaa: failed('ENODATA') })).toMatchObject({ ttlMs })
  })
})

test.each([
  ['ENODATA', 30_000],
  ['ESERVFAIL', 1_000],
  ['ETIMEOUT', 1_000],
])('AAAA records whose A query failed with %s are cached for %d ms', (code, ttlMs) => {
  expect(resolvedFrom({ a: failed(code), aaaa: records('2606:4700::1') })).toMatchObject({ ttlMs })
})

test('of thousands of addresses 16 of each family are used', () => {
  const many = records(...Array.from({ length: 4_000 }, () => '8.8.8.8'))
  expect(resolvedFrom({ a: many, aaaa: many })).toMatchObject({ addresses: { length: 32 } })
})
