import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fieldsIn,
  matchesEvent,
  matchesRejected,
  mayMatch,
} from '../../../../control/activity/events/matches.ts'
import { deliveryId } from '../../../../delivery/routing/routing.ts'
import { anEvent } from '../../../helpers/events.ts'

const rejected = (raw: string, sourceId = 'shop') => ({
  sourceId,
  code: 'event_not_defined',
  message: '',
  raw,
  receivedAt: 0,
  truncated: false,
})

describe('an accepted call', () => {
  test.each([
    [{}, true],
    [{ messageId: 'm1' }, true],
    [{ messageId: 'm' }, false],
    [{ userId: 'u1', messageId: 'm1' }, true],
    [{ userId: 'u1', messageId: 'm2' }, false],
    [{ anonymousId: 'u1' }, false],
    [{ sourceId: 'app' }, false],
    [{ event: 'Signed Up' }, false],
  ])('%j: %s', (asked, nextAttemptTimes) => {
    expect(matchesEvent(asked, () => [])(anEvent())).toBe(nextAttemptTimes)
  })

  test('matches the name of a track event, a page or a screen', () => {
    const isNamed = matchesEvent({ event: 'Home' }, () => [])
    expect(isNamed(anEvent({ event: 'Home' }))).toBe(true)
    expect(isNamed(anEvent({ type: 'page', name: 'Home' }))).toBe(true)
    expect(matchesRejected({ event: 'Home' })(rejected('{"type":"screen","name":"Home"}'))).toBe(true)
    expect(matchesRejected({ event: 'Home' })(rejected('{"type":"track","event":"Out"}'))).toBe(false)
  })

  // it may be a user's
  test.each(['identify', 'group', 'alias'] as const)('of type %s has no event name', (type) => {
    const named = { type, userId: 'u1', name: 'Jane Doe' }
    expect(matchesEvent({ event: 'Jane Doe' }, () => [])(anEvent({ ...named, event: null }))).toBe(false)
    const isFound = matchesRejected({ event: 'Jane Doe' })
    expect(isFound(rejected(JSON.stringify(named)))).toBe(false)
    expect(isFound(rejected(JSON.stringify({ batch: [named] })))).toBe(false)
  })

  test.each(['Identify', 'users', null, 7, undefined, 'track'])(
    'of type %j has no event name under `name`',
    (type) => {
      const named = { type, userId: 'u1', name: 'Jane Doe' }
      const isFound = matchesRejected({ event: 'Jane Doe' })
      expect(isFound(rejected(JSON.stringify(named)))).toBe(false)
      expect(isFound(rejected(JSON.stringify({ batch: [named] })))).toBe(false)
      expect(isFound(rejected(JSON.stringify({ ...named, event: {} })))).toBe(false)
    },
  )

  test('that has its type only in the path is found by its event', () => {
    expect(matchesRejected({ event: 'Signed up' })(rejected('{"event":"Signed up"}'))).toBe(true)
  })

  test('matches the delivery id of any of its destinations', () => {
    const wanted = matchesEvent({ deliveryId: deliveryId('crm', anEvent()) }, (source) =>
      source === 'shop' ? ['erp', 'crm'] : [],
    )
    expect(wanted(anEvent())).toBe(true)
    expect(wanted(anEvent({ messageId: 'm2' }))).toBe(false)
    expect(wanted(anEvent({ sourceId: 'app' }))).toBe(false)
  })

  test('is never skipped by the byte search', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: fc.constantFrom(...'aZ0_.:@-/\\"\n é€😀') }), (userId) => {
        const value = Buffer.from(`\0${userId}\0`)
        expect(mayMatch({ userId })(value)).toBe(true)
        expect(mayMatch({ userId })(Buffer.from(JSON.stringify({ userId })))).toBe(true)
      }),
    )
  })

  test('is skipped by the byte search when an id is missing', () => {
    expect(mayMatch({ userId: 'u1', messageId: 'm1' })(Buffer.from('...u1...m2'))).toBe(false)
  })
})

describe('a rejected call', () => {
  test.each([
    ['{"userId":"u1","messageId":"m1"}', { userId: 'u1' }, true],
    ['{"userId":"u1","messageId":"m1"}', { userId: 'u1', messageId: 'm2' }, false],
    ['{"userId":42}', { userId: '42' }, true],
    ['{"traits":{"userId":"u1"}}', { userId: 'u1' }, false],
    ['{"batch":[{"userId":"u1"},{"userId":"u2","messageId":"m2"}]}', { userId: 'u2', messageId: 'm2' }, true],
    [
      '{"batch":[{"userId":"u1"},{"userId":"u2","messageId":"m2"}]}',
      { userId: 'u1', messageId: 'm2' },
      false,
    ],
    ['{"userId":"u1","cut of', { userId: 'u1' }, true],
    ['{"userId":"u10","cut of', { userId: 'u1' }, false],
    [
      '{"userId" : "u1","messageId":"m1","event":"Paid","cut of',
      { userId: 'u1', messageId: 'm1', event: 'Paid' },
      true,
    ],
    ['{userId:"u1"}', { userId: 'u1' }, true],
    ['{\n  type: "track",\n  userId: "u1",\n  event: "Paid",\n}', { userId: 'u1', event: 'Paid' }, true],
    ['{"event":"Home","cut of', { event: 'Home' }, true],
    ['{"event":"H.me","cut of', { event: 'H.me' }, true],
    ['{"event":"Home","cut of', { event: 'H.me' }, false],
    // such a search is not audited, so it must not find users
    ['{"userId":"u1","cut of', { messageId: 'u1' }, false],
    ['{"userId":"u1","cut of', { event: 'u1' }, false],
    ['{"type":"page","name":"Jane Doe","cut of', { event: 'Jane Doe' }, false],
    ['{name:"Jane Doe"}', { event: 'Jane Doe' }, false],
    ['{"anonymousId":"u1","cut of', { userId: 'u1' }, false],
    ['not JSON at all', {}, true],
    ['"u1"', { userId: 'u1' }, false],
    ['{}', { sourceId: 'app' }, false],
  ])('%s, asked for %j: %s', (raw, asked, nextAttemptTimes) => {
    expect(matchesRejected(asked)(rejected(raw))).toBe(nextAttemptTimes)
  })

  test.each([
    '"last-event": "jane"',
    '"last event":"jane"',
    '"x.event":"jane"',
    'last-event: "jane"',
    '"reevent":"jane"',
    'x.event: "jane"',
    '$event: "jane"',
    'prénom_ëevent: "jane"',
    '\'event: "jane"',
    '"x\\"event":"jane"',
    'full event: "jane"',
    '"bio":"my event: "jane""',
  ])(
    'that is not valid JSON is not found by a member whose name only ends with the name of the field: %s',
    (member) => {
      const broken = rejected(`{"userId":"u1",${member},"cut of`)
      expect(matchesRejected({ event: 'jane' })(broken)).toBe(false)
      expect(matchesRejected({ userId: 'u1' })(broken)).toBe(true)
    },
  )

  test('has its ids, as far as it can be read', () => {
    const nothing = { messageId: null, type: null, userId: null, anonymousId: null, event: null, name: null }
    expect(fieldsIn('{"type":"track","userId":7,"event":{}}')).toEqual({
      ...nothing,
      type: 'track',
      userId: '7',
    })
    expect(fieldsIn('{"batch":[{"userId":"a"},{"userId":"b"}]}')).toEqual(nothing)
    expect(fieldsIn('{"batch":')).toEqual(nothing)
    expect(fieldsIn('null')).toEqual(nothing)
  })
})
