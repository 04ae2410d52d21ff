import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { faultOfCidr, faultOfWidth } from '../../egress/blocks.ts'

describe('only the canonical form of a CIDR is valid', () => {
  test.each([
    '10.0.0.0/8',
    '0.0.0.0/0',
    '10.1.2.3/32',
    '::/0',
    '::1/128',
    'fd12::/16',
    '2001:db8::/32',
    '::ffff:10.0.0.0/104',
  ])('%s is valid', (text) => {
    expect(faultOfCidr(text)).toBeUndefined()
  })

  test.each([
    '10/8',
    '010.0.0.0/8',
    '0x0a.0.0.0/8',
    '167772160/8',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/ 8',
    '10.0.0.0/8/8',
    '::/129',
    'fe80::1%eth0/64',
    'private',
    '',
  ])('%j is invalid', (text) => {
    expect(faultOfCidr(text)).toContain('is not a CIDR like 10.0.0.0/8')
  })

  test.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['192.168.1.1/24', '192.168.1.0/24'],
    ['fd12::5/16', 'fd12::/16'],
  ])('for %s the message suggests %s', (text, canonical) => {
    expect(faultOfCidr(text)).toContain(`write ${canonical}`)
  })

  test('the canonical form that a message suggests is valid, whatever the address', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), fc.integer({ min: 0, max: 32 }), (octets, bits) => {
        const fault = faultOfCidr(`${octets.join('.')}/${bits}`)
        if (fault) expect(faultOfCidr(/write (\S+)$/.exec(fault)?.[1] ?? '')).toBeUndefined()
      }),
    )
  })
})

describe('an allowed block', () => {
  test.each([
    '10.0.0.0/8',
    '10.1.0.0/16',
    '127.0.0.0/8',
    '192.168.0.0/16',
    '172.16.0.0/12',
    '169.254.0.0/16',
    '100.64.0.0/10',
    'fc00::/7',
    'fd12::/16',
    '::1/128',
    '93.184.216.0/24',
    '::ffff:10.0.0.0/104',
  ])('may be %s', (cidr) => {
    expect(faultOfWidth(cidr)).toBeUndefined()
  })

  test.each([
    '0.0.0.0/0',
    '10.0.0.0/0',
    '10.0.0.0/7',
    '172.0.0.0/8',
    '192.0.0.0/8',
    '169.0.0.0/8',
    '100.0.0.0/8',
    '::/0',
    '::/8',
    'f000::/4',
    '2000::/3',
    '::ffff:0.0.0.0/96',
  ])('may not be as wide as %s', (cidr) => {
    expect(faultOfWidth(cidr)).toContain('is wider than')
  })
})
