import { describe, expect, test } from 'vitest'
import { hasIPv6, reachable } from '../../egress/egress.ts'

const four = { address: '8.8.8.8', family: 4 }
const six = { address: '2606:4700::1', family: 6 }
const loopback = { address: '::1', family: 6 }

describe('the vetted addresses', () => {
  test('are all tried with IPv6', () => {
    expect(reachable([four, six], { family: undefined, hasIPv6: true })).toEqual([four, six])
    expect(reachable([four, six], { family: 0, hasIPv6: true })).toEqual([four, six])
  })

  test('exclude IPv6 ones without IPv6, except loopback', () => {
    expect(reachable([four, six, loopback], { family: 0, hasIPv6: false })).toEqual([four, loopback])
  })

  test('include IPv6 ones if there are no others', () => {
    expect(reachable([six], { family: 0, hasIPv6: false })).toEqual([six])
  })

  test.each([
    [4, [four]],
    ['IPv4', [four]],
    [6, [six]],
    ['IPv6', [six]],
  ] as const)('only family %s is tried when the socket asks for it', (family, expected) => {
    expect(reachable([four, six], { family, hasIPv6: true })).toEqual(expected)
  })

  test('are empty if the name has none of the requested family', () => {
    expect(reachable([four], { family: 6, hasIPv6: true })).toEqual([])
  })
})

test.each([
  [[{ address: '::1', family: 'IPv6', internal: true }], false],
  [[{ address: 'fe80::1', family: 'IPv6', internal: false }], false],
  [[{ address: '10.0.0.1', family: 'IPv4', internal: false }], false],
  [[{ address: 'fd12::5', family: 'IPv6', internal: false }], true],
  [[{ address: '2606:4700::1', family: 'IPv6', internal: false }], true],
] as const)('a machine with %j has IPv6: %s', (addresses, expected) => {
  expect(hasIPv6({ eth0: [...addresses] })).toBe(expected)
})
