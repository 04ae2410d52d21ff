import { expect, test } from 'vitest'
import { hashOf } from '../../../router/duplicates/hash.ts'
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

test('it is the one that was written by earlier versions', () => {
  // sha256("shop\0u1\0m1"): a change would make the ids in router.seen unknown
  expect(hashOf(shop)).toEqual({ high: 0xda8b8c90, low: 0x842e2fba })
})
