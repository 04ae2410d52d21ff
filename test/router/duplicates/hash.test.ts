import { expect, test } from 'vitest'
import { hashOf } from '../../../router/duplicates/window.ts'
import { anEvent } from '../../helpers/events.ts'

const shop = { sourceId: 'shop', userId: 'u1', anonymousId: null, messageId: 'm1' }

test('the same id, source and user give the same hash, whatever else the event contains', () => {
  expect(hashOf(anEvent({ ...shop, event: 'Paid' }))).toEqual(hashOf(anEvent({ ...shop, event: 'Left' })))
})

test('another source, user or id gives another hash', () => {
  const others = [
    shop,
    { ...shop, sourceId: 'app' },
    { ...shop, userId: 'u2' },
    { ...shop, userId: null, anonymousId: 'a1' },
    { ...shop, messageId: 'm2' },
  ]
  expect(new Set(others.map((event) => JSON.stringify(hashOf(event)))).size).toBe(others.length)
})

test('a userId, an equal anonymousId and no user are three different users', () => {
  const users = [
    { ...shop, userId: 'x', anonymousId: null },
    { ...shop, userId: null, anonymousId: 'x' },
    { ...shop, userId: null, anonymousId: null },
    { ...shop, userId: null, anonymousId: '' },
    { ...shop, userId: '["x"]', anonymousId: null },
  ]
  expect(new Set(users.map((event) => JSON.stringify(hashOf(event)))).size).toBe(users.length)
})

test('with a userId the anonymousId is ignored', () => {
  expect(hashOf({ ...shop, anonymousId: 'a1' })).toEqual(hashOf(shop))
})

test('moving the boundary between user and id changes the hash, whatever characters they contain', () => {
  for (const mark of ['\0', ',', '"', '\\', '","']) {
    const one = hashOf({ ...shop, userId: 'a', messageId: `b${mark}c` })
    expect(hashOf({ ...shop, userId: `a${mark}b`, messageId: 'c' })).not.toEqual(one)
  }
})

test('the hash equals that of earlier versions', () => {
  // printf '["shop","u1","m1"]' | sha256sum: with any change, ids in router.seen would be unknown
  expect(hashOf(shop)).toEqual({ high: 0xd407aa2b, low: 0xce259c37 })
})
