import { expect, test } from 'vitest'
import {
  badlyRedacted,
  type Direction,
  directionOf,
  type Findings,
  handedOver,
  type TimedPost,
  unexplainedRepeats,
  worked,
} from '../../../torture/upgrade/findings.ts'

const post = (messageId: string, at: number, more: Partial<TimedPost> = {}): TimedPost => ({
  ...{ webhook: '/busy', destinationId: 'busy', messageId, deliveryId: `id-${messageId}`, at },
  ...{ endpoint: 0, status: 200, attempt: 1, body: '{}' },
  ...more,
})
const busy = { status: 429 }

test('a retry is handed over if no deliverer sent it while both versions ran', () => {
  const mixed = { from: 100, to: 200 }
  const posts = [
    ...[post('handed over', 10, busy), post('handed over', 210)],
    ...[
      post('handed over late', 10, busy),
      post('handed over late', 210, busy),
      post('handed over late', 300),
    ],
    ...[post('by either', 10, busy), post('by either', 150, busy), post('by either', 210)],
    ...[post('by the first', 10, busy), post('by the first', 20)],
    ...[post('again', 10), post('again', 210)],
    ...[post('by the second', 210, busy), post('by the second', 220)],
    ...[post('never', 10, busy), post('never', 210, busy)],
  ]
  expect(handedOver(posts, mixed)).toEqual(['busy handed over', 'busy handed over late'])
})

test('a delivery may repeat across a rebalance, but not within a calm time', () => {
  const calm = [
    { from: 0, to: 100 },
    { from: 200, to: 300 },
  ]
  const posts = [
    ...[post('across', 50), post('across', 250)],
    ...[post('in a rebalance', 110), post('in a rebalance', 120)],
    ...[post('retried', 210, busy), post('retried', 220)],
    ...[post('repeated', 210), post('repeated', 299)],
  ]
  expect(unexplainedRepeats(posts, calm)).toEqual(['busy repeated'])
})

test('a redacted body has no text and the same hash of a user every time', () => {
  const userOf = new Map(['m1', 'm2', 'm3', 'm4', 'm5'].map((id) => [id, 'user-1']))
  const body = (value: object) => ({ body: JSON.stringify({ properties: {}, ...value }) })
  const posts = [
    post('m1', 1, body({ userId: 'abc' })),
    post('m2', 2, body({ userId: 'abc' })),
    post('m3', 3, body({ userId: 'other' })),
    post('m4', 4, body({ userId: 'abc', properties: { text: 'x' } })),
    post('m5', 5, body({})),
    post('of another source', 6, body({})),
  ]
  expect(badlyRedacted(posts, userOf)).toEqual(['busy m3', 'busy m4', 'busy m5'])
  expect(badlyRedacted([post('m1', 1, body({ userId: 'user-1' }))], userOf)).toEqual(['busy m1'])
})

test('replays that were not delivered and calls that were forwarded again are named', () => {
  const strict = { destinationId: 'strict', status: 404 }
  const healthy = { destinationId: 'healthy' }
  const posts = [
    ...[post('m1', 1, strict), post('m2', 1, strict), post('m1', 300, { ...strict, status: 200 })],
    ...[post('m3', 1, healthy), post('m3', 300, { destinationId: 'strict' })],
    ...[post('m4', 1, healthy), post('m4', 300, healthy)],
  ]
  const found = directionOf(posts, {
    mixed: { from: 100, to: 200 },
    replayed: new Set(['strict m1', 'strict m2']),
    resent: new Set(['m3', 'm4']),
    resentAt: 250,
    probes: 3,
  })
  expect(found).toEqual({
    ...{ handedOver: 0, replayed: 2, unreplayed: ['strict m2'] },
    ...{ resent: 2, forwardedAgain: ['healthy m4'], probes: 3 },
  })
})

const direction: Direction = {
  ...{ handedOver: 1, replayed: 1, unreplayed: [] },
  ...{ resent: 1, forwardedAgain: [], probes: 1 },
}
const fine: Findings = { up: direction, back: direction, repeats: [], badlyRedacted: [] }

test.each<[string, Partial<Findings>, boolean]>([
  ['everything worked', {}, true],
  ['the earlier version has no rules', { badlyRedacted: undefined }, true],
  ['a body was not redacted', { badlyRedacted: ['ruled m1'] }, false],
  ['a delivery repeated', { repeats: ['busy m1'] }, false],
  ['no retry was handed over', { back: { ...direction, handedOver: 0 } }, false],
  ['nothing was replayed', { up: { ...direction, replayed: 0 } }, false],
  ['a replay was not delivered', { up: { ...direction, unreplayed: ['strict m1'] } }, false],
  ['a call was forwarded again', { back: { ...direction, forwardedAgain: ['healthy m1'] } }, false],
])('%s', (_, more, expected) => {
  expect(worked({ ...fine, ...more })).toBe(expected)
})
