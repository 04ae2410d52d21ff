import { describe, expect, test } from 'vitest'
import { allowed, forbidden } from '../../deliverer/address.ts'

const none = allowed([])

describe('addresses that webhooks may not reach', () => {
  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '168.63.129.16',
    '0.0.0.0',
    '100.64.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    '4000::1',
    '2001:4860::5efe:7f00:1',
    '2001:4860::200:5efe:5db8:d822',
    'not an address',
  ])('%s', (address) => {
    expect(forbidden(address, none)).toBeTypeOf('string')
  })
})

test.each(['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946', '::ffff:93.184.216.34'])(
  '%s may be reached',
  (address) => {
    expect(forbidden(address, none)).toBeUndefined()
  },
)

test('EGRESS_ALLOW lets through what it lists, and nothing beside it', () => {
  const allow = allowed(['127.0.0.0/8', '::1/128'])
  expect([
    forbidden('127.9.9.9', allow),
    forbidden('::1', allow),
    forbidden('::ffff:127.0.0.1', allow),
  ]).toEqual([undefined, undefined, undefined])
  expect(forbidden('10.0.0.1', allow)).toBe('private')
})
