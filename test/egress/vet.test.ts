import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blockOf } from '../../egress/blocks.ts'
import { forbidden, singleBlock } from '../../egress/vet.ts'

const allowed = (allow: readonly string[], deny: readonly string[] = []) => ({
  allow: allow.map(blockOf),
  deny: deny.map(blockOf),
})

const none = allowed([])

describe('addresses that webhooks may not reach', () => {
  test.each([
    ['127.0.0.1', 'loopback'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['100.64.0.1', 'carrierGradeNat'],
    ['192.0.0.8', 'reserved'],
    ['192.0.2.1', 'reserved'],
    ['198.51.100.1', 'reserved'],
    ['203.0.113.1', 'reserved'],
    ['198.18.0.1', 'reserved'],
    ['192.88.99.1', 'reserved'],
    ['240.0.0.1', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['::1', 'loopback'],
    ['::', 'unspecified'],
    ['fe80::1', 'linkLocal'],
    ['fe80::1%eth0', 'zone'],
    ['2606:4700::1111%eth0', 'zone'],
    ['fc00::1', 'uniqueLocal'],
    ['fec0::1', 'deprecatedSiteLocal'],
    ['ff02::1', 'multicast'],
    ['100::1', 'discard'],
    ['5f00::1', 'segmentRouting'],
    ['2001:db8::1', 'reserved'],
    ['3fff::1', 'reserved'],
    ['2001:2::1', 'benchmarking'],
    ['2001:10::1', 'deprecatedOrchid'],
    ['2001:20::1', 'orchid2'],
    ['4000::1', 'reserved'],
    ['1fff::1', 'reserved'],
    // forms that hold an IPv4 address
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:a00:1', 'private'],
    ['::127.0.0.1', 'reserved'],
    ['::8.8.8.8', 'reserved'],
    ['::ffff:0:127.0.0.1', 'rfc6145'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['64:ff9b::169.254.169.254', 'linkLocal'],
    ['64:ff9b:1::808:808', 'rfc6052'],
    ['2002:7f00:1::', '6to4'],
    ['2002:808:808::1', '6to4'],
    ['2001:0:808:808::1', 'teredo'],
    ['2606:4700::5efe:7f00:1', 'isatap'],
    ['2606:4700::200:5efe:808:808', 'isatap'],
    // metadata services of clouds
    ['169.254.169.254', 'linkLocal'],
    ['169.254.170.2', 'linkLocal'],
    ['fd00:ec2::254', 'uniqueLocal'],
    ['fd20:ce::254', 'uniqueLocal'],
    ['168.63.129.16', 'metadata'],
    ['::ffff:168.63.129.16', 'metadata'],
    ['64:ff9b::a83f:8110', 'metadata'],
    ['100.100.100.200', 'carrierGradeNat'],
    ['192.0.0.192', 'reserved'],
    // what no socket takes for an address
    ['2130706433', 'no_address'],
    ['0177.0.0.1', 'no_address'],
    ['127.1', 'no_address'],
    ['not an address', 'no_address'],
    ['', 'no_address'],
  ])('%s: %s', (address, reason) => {
    expect(forbidden(address, none)).toBe(reason)
  })
})

test.each([
  '93.184.216.34',
  '172.32.0.1',
  '100.128.0.1',
  '2606:2800:220:1:248:1893:25c8:1946',
  '::ffff:93.184.216.34',
  '64:ff9b::5db8:d822',
])('%s is allowed', (address) => {
  expect(forbidden(address, none)).toBeUndefined()
})

describe('EGRESS_ALLOW', () => {
  const allow = allowed(['127.0.0.0/8', '::1/128', 'fd12::/16', '::ffff:10.0.0.0/104'])

  test.each(['127.9.9.9', '::1', 'fd12::5', '10.1.2.3', '::ffff:127.0.0.1', '::ffff:7f00:1'])(
    'allows %s',
    (address) => {
      expect(forbidden(address, allow)).toBeUndefined()
    },
  )

  test.each([
    '192.168.0.1',
    '::2',
    'fd13::5',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '::127.0.0.1',
    'fd12::5%eth0',
  ])('does not allow %s, or another way to what it lists', (address) => {
    expect(forbidden(address, allow)).toBeTypeOf('string')
  })

  test('lists all addresses of one family as one block', () => {
    expect(forbidden('10.0.0.1', allowed(['::/0']))).toBe('private')
    expect(forbidden('::1', allowed(['0.0.0.0/0']))).toBe('loopback')
  })

  test.each([
    ['10.0.0.5', '10.0.0.5/32'],
    ['::ffff:10.0.0.5', '10.0.0.5/32'],
    ['fd12::5', 'fd12::5/128'],
  ])('%s could be allowed by %s', (address, block) => {
    expect(singleBlock(address)).toBe(block)
    expect(forbidden(address, allowed([block]))).toBeUndefined()
  })

  test.each(['fe80::1%lo0', 'not an address', ''])('%j could not be allowed by any CIDR', (address) => {
    expect(singleBlock(address)).toBeUndefined()
  })
})

describe('a metadata service', () => {
  test.each(['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254'])(
    '%s is allowed only if it is listed by itself',
    (address) => {
      const wide = ['169.254.0.0/16', '100.64.0.0/10', '168.63.129.0/24', 'fc00::/7']
      expect(forbidden(address, allowed(wide))).toBeTypeOf('string')
      const own = `${address}/${address.includes(':') ? 128 : 32}`
      expect(forbidden(address, allowed([own]))).toBeUndefined()
    },
  )

  test.each(['64:ff9b::a9fe:a9fe', '64:ff9b::169.254.170.2', '64:ff9b::a83f:8110'])(
    'nor is it allowed through NAT64: %s',
    (address) => {
      expect(forbidden('64:ff9b::a00:1', allowed(['64:ff9b::/96']))).toBeUndefined()
      expect(forbidden(address, allowed(['64:ff9b::/96']))).toBeTypeOf('string')
      expect(forbidden(address, allowed([`${address}/128`]))).toBeUndefined()
    },
  )
})

describe('EGRESS_DENY', () => {
  const rules = allowed(['10.0.0.0/8'], ['93.184.216.0/24', '10.1.0.0/16', '2606:4700::/32'])

  test.each([
    '93.184.216.34',
    '::ffff:93.184.216.34',
    '64:ff9b::93.184.216.34',
    '64:ff9b::5db8:d822',
    '10.1.2.3',
    '2606:4700::1111',
  ])('refuses %s', (address) => {
    expect(forbidden(address, rules)).toBe('denied')
  })

  test('refuses NAT64 as a whole', () => {
    expect(forbidden('64:ff9b::808:808', allowed([], ['64:ff9b::/96']))).toBe('denied')
  })

  test.each(['93.184.217.34', '64:ff9b::5db8:d922', '10.2.2.3', '2a00:1450::1'])(
    'does not affect %s',
    (address) => {
      expect(forbidden(address, rules)).toBeUndefined()
    },
  )
})

/** Ranges that no webhook may reach: first address and prefix length (IANA's special-purpose registry). */
const PRIVATE: [number, number][] = [
  [0x00000000, 8],
  [0x0a000000, 8],
  [0x64400000, 10],
  [0x7f000000, 8],
  [0xa9fe0000, 16],
  [0xac100000, 12],
  [0xc0000000, 24],
  [0xc0000200, 24],
  [0xc0a80000, 16],
  [0xc6120000, 15],
  [0xc6336400, 24],
  [0xcb007100, 24],
  [0xe0000000, 3],
]
const anyPrivate = fc
  .constantFrom(...PRIVATE)
  .chain(([first, bits]) => fc.nat(2 ** (32 - bits) - 1).map((rest) => first + rest))
const dotted = (address: number) => [24, 16, 8, 0].map((bits) => (address >>> bits) & 255).join('.')
const hex = (address: number) => `${(address >>> 16).toString(16)}:${(address & 0xffff).toString(16)}`

const FORMS: ((address: number) => string)[] = [
  dotted,
  (address) => `::ffff:${dotted(address)}`,
  (address) => `0:0:0:0:0:ffff:${hex(address)}`,
  (address) => `::${hex(address)}`,
  (address) => `::${dotted(address)}`,
  (address) => `::ffff:0:${hex(address)}`,
  (address) => `64:ff9b::${hex(address)}`,
  (address) => `64:ff9b:1::${hex(address)}`,
  (address) => `2002:${hex(address)}::1`,
  (address) => `2001:0:${hex(address)}::1`,
  (address) => `2001:0:808:808::${hex(~address >>> 0)}`,
  (address) => `2606:4700::5efe:${hex(address)}`,
  (address) => `2606:4700::200:5efe:${hex(address)}`,
]

test('every address of a private range is refused, in every form that contains it', () => {
  fc.assert(
    fc.property(anyPrivate, fc.constantFrom(...FORMS), (address, form) => {
      expect(forbidden(form(address), none)).toBeTypeOf('string')
    }),
    { numRuns: 2_000 },
  )
})

/** Assigned completely: every address in these blocks is public. */
const anyPublic = fc
  .tuple(fc.constantFrom(1, 8, 23, 52, 93, 142, 151, 185, 212), fc.nat(0xffffff))
  .map(([first, rest]) => first * 2 ** 24 + rest)

test('every public address is allowed, also through NAT64 and as IPv4-mapped', () => {
  fc.assert(
    fc.property(anyPublic, (address) => {
      for (const form of [dotted(address), `::ffff:${dotted(address)}`, `64:ff9b::${hex(address)}`])
        expect(forbidden(form, none)).toBeUndefined()
      expect(forbidden(`2a00:${hex(address)}::1`, none)).toBeUndefined()
    }),
  )
})
