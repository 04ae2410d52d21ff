import { describe, expect, test } from 'vitest'
import { answerOf, type Reply } from '../../egress/answer.ts'

const records = (...addresses: string[]): Reply => ({
  records: addresses.map((address) => ({ address, ttl: 30 })),
})
const ttl = (...ttls: number[]): Reply => ({
  records: ttls.map((each) => ({ address: '8.8.8.8', ttl: each })),
})
const failed = (code: string): Reply => ({ code })

test('addresses of both families are the name', () => {
  expect(answerOf({ a: records('8.8.8.8', '8.8.4.4'), aaaa: records('2606:4700::1') })).toEqual({
    addresses: [
      { address: '8.8.8.8', family: 4 },
      { address: '8.8.4.4', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ],
    ttlMs: 30_000,
  })
})

test.each(['ENODATA', 'ESERVFAIL', 'ETIMEOUT', 'ENOTFOUND', 'EREFUSED'])(
  'one family is enough when the other ends in %s',
  (code) => {
    expect(answerOf({ a: records('8.8.8.8'), aaaa: failed(code) })).toMatchObject({
      addresses: [{ family: 4 }],
    })
    expect(answerOf({ a: failed(code), aaaa: records('2606:4700::1') })).toMatchObject({
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
  expect(answerOf({ a: failed(a), aaaa: failed(aaaa) })).toEqual({ code, ttlMs: 1_000 })
})

test('no records at all are no address', () => {
  expect(answerOf({ a: records(), aaaa: failed('ENODATA') })).toMatchObject({ code: 'ENOTFOUND' })
})

describe('an answer is believed', () => {
  test.each([
    [ttl(0), 1_000],
    [ttl(7), 7_000],
    [ttl(40, 7), 7_000],
    [ttl(86_400), 60_000],
  ])('for the least of its times, within bounds: %j', (a, ttlMs) => {
    expect(answerOf({ a, aaaa: failed('ENODATA') })).toMatchObject({ ttlMs })
  })
})

test('of thousands of addresses 16 of each family are kept', () => {
  const many = records(...Array.from({ length: 4_000 }, () => '8.8.8.8'))
  expect(answerOf({ a: many, aaaa: many })).toMatchObject({ addresses: { length: 32 } })
})
