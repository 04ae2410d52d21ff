import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressRule, withAddress } from '../../../ingest/call/address.ts'
import { basic, fakeIngest, post } from '../fake.ts'

const IP = '203.0.113.9'
type Settings = Parameters<typeof addressRule>[0]
const kept = (settings: Settings, context: object | null, { ip = IP, isPixel = false } = {}) =>
  withAddress(context as never, ip, addressRule(settings, isPixel))

describe('context.ip of a call', () => {
  test.each<[string, Settings, object | null, object | null]>([
    ['of a server is as it was sent', {}, { ip: '10.0.0.1' }, { ip: '10.0.0.1' }],
    ['of a server is not filled in', { kind: 'server' }, null, null],
    ['from the web is filled in', { kind: 'web' }, { page: 1 }, { page: 1, ip: IP }],
    ['from an app is filled in, also without a context', { kind: 'mobile' }, null, { ip: IP }],
    ['is filled in where it is empty', { kind: 'web' }, { ip: '' }, { ip: IP }],
    ['is filled in where it is null', { kind: 'web' }, { ip: null }, { ip: IP }],
    ['that was sent stays', { kind: 'web' }, { ip: '198.51.100.7' }, { ip: '198.51.100.7' }],
    ['is truncated', { kind: 'web', ip: 'truncated' }, {}, { ip: '203.0.113.0' }],
    [
      'that was sent is truncated, also of a server',
      { ip: 'truncated' },
      { ip: '198.51.100.7' },
      { ip: '198.51.100.0' },
    ],
    [
      'that is no address is not kept when it is to be truncated',
      { ip: 'truncated' },
      { ip: 'home' },
      { ip: null },
    ],
    [
      'becomes null if it is longer than any address',
      { ip: 'truncated' },
      { ip: `${'0'.repeat(59)}::1234` },
      { ip: null },
    ],
    ['is not made up to be truncated', { ip: 'truncated' }, { a: 1 }, { a: 1 }],
    ['is not kept', { kind: 'web', ip: 'none' }, { ip: '198.51.100.7', a: 1 }, { a: 1 }],
    ['is not filled in when it is not kept', { kind: 'web', ip: 'none' }, null, null],
    ['of a direct client is its own', {}, { direct: true, ip: '10.0.0.1' }, { direct: true, ip: IP }],
    [
      'of a direct client is truncated',
      { ip: 'truncated' },
      { direct: true },
      { direct: true, ip: '203.0.113.0' },
    ],
    ['of a direct client is not kept', { ip: 'none' }, { direct: true, ip: '10.0.0.1' }, { direct: true }],
  ])('%s', (_what, settings, context, expected) => {
    expect(kept(settings, context)).toEqual(expected)
  })

  test.each([
    ['::ffff:203.0.113.9', 'full', '203.0.113.9'],
    ['::ffff:203.0.113.9', 'truncated', '203.0.113.0'],
    ['2001:db8:1:2:3:4:5:6', 'full', '2001:db8:1:2:3:4:5:6'],
    ['2001:db8:1:2:3:4:5:6', 'truncated', '2001:db8:1::'],
  ] as const)('%s, %s, is %s', (ip, as, expected) => {
    expect(kept({ kind: 'web', ip: as }, null, { ip })).toEqual({ ip: expected })
  })

  test.each(['full', 'truncated'] as const)(
    'is null if the client left before its connection was accepted (%s)',
    (ip) => {
      const rule = addressRule({ ip }, true)
      expect(withAddress(null, undefined, rule)).toEqual({ ip: null })
      expect(withAddress({ direct: true, ip: '10.0.0.1' }, undefined, rule)).toEqual({
        direct: true,
        ip: null,
      })
    },
  )

  test.each(['unknown', 'localhost', '203.0.113', ''])(
    'is null if the proxy that Sluice trusts names no address (%s)',
    (ip) => {
      expect(kept({ kind: 'web' }, { page: 1 }, { ip })).toEqual({ page: 1, ip: null })
    },
  )

  test('truncated addresses of one network are equal', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(octet, octet, octet, octet, octet, (a, b, c, d, e) => {
        const of = (last: number) => kept({ ip: 'truncated' }, { ip: `${a}.${b}.${c}.${last}` })
        expect(of(d)).toEqual(of(e))
      }),
    )
  })

  test('of a pixel is filled in for every source', () => {
    expect(kept({}, null, { isPixel: true })).toEqual({ ip: IP })
  })
})

describe('a web source', () => {
  const sources = [{ id: 'shop', writeKey: 'shop-key', enabled: true, kind: 'web' }] as const
  const contexts = (ingest: ReturnType<typeof fakeIngest>) =>
    ingest.events().map(({ context }) => JSON.parse(context ?? 'null'))

  test('uses the address from a trusted load balancer, for each call of a batch', async () => {
    const ingest = fakeIngest({ sources, door: { trustProxy: ['127.0.0.0/8'] } })
    const batch = [
      { type: 'page', userId: 'u' },
      { type: 'page', userId: 'u', context: { ip: '198.51.100.7' } },
    ]
    await post(ingest, '/v1/batch', { context: { app: 1 }, batch }, { 'x-forwarded-for': '203.0.113.9' })
    expect(contexts(ingest)).toEqual([
      { app: 1, ip: '203.0.113.9' },
      { app: 1, ip: '198.51.100.7' },
    ])
  })

  test('uses the address without the port that a load balancer adds', async () => {
    const ingest = fakeIngest({ sources, door: { trustProxy: ['127.0.0.0/8'] } })
    await post(ingest, '/v1/page', { userId: 'u' }, { 'x-forwarded-for': '[2001:db8::9]:40001' })
    expect(contexts(ingest)).toEqual([{ ip: '2001:db8::9' }])
  })

  test('uses the address of the client that loads a pixel', async () => {
    const ingest = fakeIngest()
    const data = Buffer.from('{"userId":"u","event":"Opened"}').toString('base64url')
    const url = `/v1/pixel/track?data=${data}`
    await ingest.app.inject({ url, remoteAddress: IP, headers: { authorization: basic('shop-key') } })
    expect(contexts(ingest)).toEqual([{ ip: IP }])
  })
})
