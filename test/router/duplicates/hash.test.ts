import { expect, test } from 'vitest'
import { hashOf } from '../../../router/duplicates/window.ts'
import { anEvent } from '../../helpers/events.ts'

const shop = { sourceId: 'shop', userId: 'u1', anonymousId: null, messageId: 'm1' }

test('the same id from the same source and user has the same hash, whatever else the event says', () => {
  expect(hashOf(anEvent({ ...shop, event: 'Paid' }))).toEqual(hashOf(anEvent({ ...shop, event: 'Left' })))
})

test('another source, another user or another id has another', () => {
  const others = [
    shop,
    { ...shop, sourceId: 'app' },
    { ...shop, userId: 'u2' },
    { ...shop, userId: null, anonymousId: 'a1' },
    { ...shop, messageId: 'm2' },
  ]
  expect(new Set(others.map((event) => JSON.stringify(hashOf(event)))).size).toBe(others.length)
})

test('a user by userId and one by anonymousId are two, and no user is a third', () => {
  const users = [
    { ...shop, userId: 'x', anonymousId: null },
    { ...shop, userId: null, anonymousId: 'x' },
    { ...shop, userId: null, anonymousId: null },
    { ...shop, userId: null, anonymousId: '' },
    { ...shop, userId: '["x"]', anonymousId: null },
  ]
  expect(new Set(users.map((event) => JSON.stringify(hashOf(event)))).size).toBe(users.length)
})

test('of a user with a userId the anonymousId does not count', () => {
  expect(hashOf({ ...shop, anonymousId: 'a1' })).toEqual(hashOf(shop))
})

test('no other cut between user and id has the same hash, whatever characters they hold', () => {
  for (const mark of ['\0', ',', '"', '\\', '","']) {
    const one = hashOf({ ...shop, userId: 'a', messageId: `b${mark}c` })
    expect(hashOf({ ...shop, userId: `a${mark}b`, messageId: 'c' })).not.toEqual(one)
  }
})

test('it is the one that was written by earlier versions', () => {
  // printf '["shop","u1","m1"]' | sha256sum: a change would make the ids in router.seen unknown
  expect(hashOf(shop)).toEqual({ high: 0xd407aa2b, low: 0xce259c37 })
})
