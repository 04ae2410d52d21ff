import { describe, expect, test } from 'vitest'
import type { Code } from '../../../ingest/answer.ts'
import { accept, type Facts } from '../../../ingest/call/accept.ts'
import type { Event } from '../../../schemas/event.ts'
import { CALL_TYPES, type CallType } from '../../../settings/settings.ts'

const NOW = Date.parse('2026-01-02T03:04:05.678Z')
const facts: Facts = { sourceId: 'shop', receivedAt: NOW, ip: '::ffff:203.0.113.9', newId: () => 'made' }

function event(type: CallType, call: unknown): Event {
  const accepted = accept(call, facts, type)
  if (!accepted.ok) throw new Error(`not accepted: ${accepted.code}`)
  return accepted.event
}

function code(type: CallType | undefined, call: unknown): Code | 'accepted' {
  const accepted = accept(call, facts, type)
  return accepted.ok ? 'accepted' : accepted.code
}

const complete = {
  identify: { userId: 'u' },
  track: { userId: 'u', event: 'Bought' },
  page: { userId: 'u' },
  screen: { userId: 'u' },
  group: { userId: 'u', groupId: 'g' },
  alias: { userId: 'u', previousId: 'p' },
} as const

/** Levels of objects, the outermost among them. */
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })

describe('required fields of each type', () => {
  test.each(CALL_TYPES)('%s is accepted with only the required fields', (type) => {
    expect(code(type, complete[type])).toBe('accepted')
  })

  test.each(['identify', 'track', 'page', 'screen', 'group'] as const)(
    '%s accepts an anonymous user',
    (type) => {
      expect(code(type, { ...complete[type], userId: null, anonymousId: 'a' })).toBe('accepted')
    },
  )

  test.each<[CallType, unknown, Code]>([
    ['identify', {}, 'no_user_or_anonymous_id'],
    ['page', { name: 'Home' }, 'no_user_or_anonymous_id'],
    ['screen', { userId: '' }, 'no_user_or_anonymous_id'],
    ['track', { event: 'Bought', userId: null, anonymousId: '' }, 'no_user_or_anonymous_id'],
    ['track', { userId: 'u' }, 'event_not_defined'],
    ['track', { userId: 'u', event: null }, 'event_not_defined'],
    ['track', { userId: 'u', event: '' }, 'event_not_defined'],
    ['track', { userId: 'u', event: 5 }, 'event_not_string'],
    ['group', { groupId: 'g' }, 'no_user_or_anonymous_id'],
    ['group', { userId: 'u' }, 'group_id_required'],
    ['group', { userId: 'u', groupId: '' }, 'group_id_required'],
    ['alias', { previousId: 'p' }, 'user_id_required'],
    ['alias', { previousId: 'p', anonymousId: 'a' }, 'user_id_required'],
    ['alias', { userId: 'u', previousId: null }, 'previous_id_required'],
  ])('%s of %j is %s', (type, call, expected) => {
    expect(code(type, call)).toBe(expected)
  })
})

describe('a call is an object, not too deep, not too large, of a known type', () => {
  test.each([null, 5, 'track', true, [], [{ userId: 'u' }]])('%j is call_not_object', (call) => {
    expect(code('identify', call)).toBe('call_not_object')
  })

  test('64 levels are accepted, 65 are too_deep', () => {
    expect(code('identify', { userId: 'u', traits: nested(63) })).toBe('accepted')
    expect(code('identify', { userId: 'u', traits: nested(64) })).toBe('too_deep')
    expect(
      code('identify', { userId: 'u', traits: JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) }),
    ).toBe('too_deep')
  })

  test('in a batch 32,768 bytes of compact JSON are accepted, one more is call_too_large', () => {
    const frame = JSON.stringify({ type: 'identify', userId: 'u', traits: { a: '' } }).length
    const sized = (bytes: number) => ({
      type: 'identify',
      userId: 'u',
      traits: { a: 'é'.repeat((bytes - frame) / 2) + 'x'.repeat((bytes - frame) % 2) },
    })
    expect(Buffer.byteLength(JSON.stringify(sized(32_768)))).toBe(32_768)
    expect(code(undefined, sized(32_767))).toBe('accepted')
    expect(code(undefined, sized(32_768))).toBe('accepted')
    expect(code(undefined, sized(32_769))).toBe('call_too_large')
  })

  test.each([undefined, null, 'delete', 'Track', 'toString', 5])(
    'in a batch the type %j is unknown_type',
    (type) => {
      expect(code(undefined, { type, userId: 'u', event: 'x' })).toBe('unknown_type')
    },
  )

  test('on a route for one type, the type in the body is ignored', () => {
    expect(event('identify', { type: 'delete', userId: 'u' }).type).toBe('identify')
  })
})

describe('ids', () => {
  test.each([
    [42, '42'],
    [0, '0'],
    [-7, '-7'],
    [1.5, '1.5'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('the number %j is stored as %j', (userId, expected) => {
    expect(event('identify', { userId }).userId).toBe(expected)
  })

  test.each([2 ** 53, 1e21, 1e-7, true, {}, ['u']])('%j is id_not_string', (userId) => {
    expect(code('identify', { userId, anonymousId: 'a' })).toBe('id_not_string')
    expect(code('group', { userId: 'u', groupId: userId })).toBe('id_not_string')
    expect(code('alias', { userId: 'u', previousId: userId })).toBe('id_not_string')
  })

  test('an empty id beside a valid one is ignored', () => {
    expect(event('identify', { userId: '', anonymousId: 'a' })).toMatchObject({
      userId: null,
      anonymousId: 'a',
    })
  })

  test.each([['m'], ['m'.repeat(100)], ['grüße\n']])('messageId %j is kept', (messageId) => {
    expect(event('identify', { userId: 'u', messageId }).messageId).toBe(messageId)
  })

  test.each([undefined, null, '', 'm'.repeat(101), 5, {}])(
    'instead of messageId %j one is made',
    (messageId) => {
      expect(event('identify', { userId: 'u', messageId }).messageId).toBe('made')
    },
  )
})

describe('objects', () => {
  const fields = ['properties', 'traits', 'context', 'integrations'] as const
  test.each(fields.flatMap((field) => [5, 'x', true, [], [1]].map((value) => [field, value] as const)))(
    '%s of %j is refused',
    (field, value) => {
      expect(code('track', { ...complete.track, [field]: value })).toBe(`${field}_not_object`)
    },
  )

  test.each(fields)('%s of null is absent', (field) => {
    expect(event('track', { ...complete.track, [field]: null })[field]).toBeNull()
  })

  test('are stored as JSON.stringify prints them', () => {
    const properties = JSON.parse(
      '{"z": 1e3, "b": {"é": "\\u00e9\\ud800"}, "__proto__": {"x": 1}, "2": 0, "1": -0}',
    )
    const kept = event('track', { ...complete.track, properties }).properties
    expect(kept).toBe('{"1":0,"2":0,"z":1000,"b":{"é":"é\\ud800"},"__proto__":{"x":1}}')
    expect(JSON.stringify(JSON.parse(String(kept)))).toBe(kept)
    expect(Object.prototype).not.toHaveProperty('x')
  })

  test("a page's traits become its properties if it has none", () => {
    expect(event('page', { userId: 'u', traits: { url: '/' } })).toMatchObject({
      properties: '{"url":"/"}',
      traits: null,
    })
    expect(event('page', { userId: 'u', traits: { a: 1 }, properties: {} })).toMatchObject({
      properties: '{}',
      traits: '{"a":1}',
    })
    expect(event('screen', { userId: 'u', traits: { a: 1 } })).toMatchObject({
      properties: null,
      traits: '{"a":1}',
    })
  })

  test('half a surrogate pair in an id or a name is stored as U+FFFD, because it has no UTF-8 form', () => {
    const call = { messageId: 'm\ud800', userId: 'u\ud800', event: 'e\udc00', name: '\ud83d\ude00\ud83d' }
    const kept = { messageId: 'm\ufffd', userId: 'u\ufffd', event: 'e\ufffd', name: '\ud83d\ude00\ufffd' }
    expect(event('track', call)).toMatchObject(kept)
  })

  test('names that are not strings are stored as JSON', () => {
    expect(event('page', { userId: 'u', name: 5, category: null })).toMatchObject({
      name: '5',
      category: null,
    })
  })
})

describe('integrations', () => {
  test.each<[object, string | null]>([
    [{}, null],
    [{ integrations: { All: false, Webhooks: true } }, '{"All":false,"Webhooks":true}'],
    [{ context: { integrations: { All: false } } }, '{"All":false}'],
    [{ integrations: { All: true }, context: { integrations: { All: false } } }, '{"All":true}'],
    [{ integrations: null, context: { integrations: { All: false } } }, '{"All":false}'],
    [{ integrations: { Webhooks: true, all: false } }, '{"All":false,"Webhooks":true}'],
    [{ integrations: { All: true, all: false } }, '{"All":true,"all":false}'],
    [{ integrations: { Webhooks: { option: 1 } } }, '{"Webhooks":{"option":1}}'],
  ])('of %j are %s', (call, expected) => {
    expect(event('identify', { userId: 'u', ...call }).integrations).toBe(expected)
  })

  test.each<[unknown, Code]>([
    [{ All: 'false' }, 'integrations_all_not_boolean'],
    [{ all: 0 }, 'integrations_all_not_boolean'],
    [{ All: {} }, 'integrations_all_not_boolean'],
    [false, 'integrations_not_object'],
    [[], 'integrations_not_object'],
  ])('%j is %s, at either place', (integrations, expected) => {
    expect(code('identify', { userId: 'u', integrations })).toBe(expected)
    expect(code('identify', { userId: 'u', context: { integrations } })).toBe(expected)
  })
})

describe('context.ip', () => {
  test("is the client's address for a direct client", () => {
    expect(event('identify', { userId: 'u', context: { direct: true, ip: '10.0.0.1' } }).context).toBe(
      '{"direct":true,"ip":"203.0.113.9"}',
    )
  })

  test.each([{ ip: '10.0.0.1' }, { direct: 'true' }, {}])('of %j is left unchanged', (context) => {
    expect(event('identify', { userId: 'u', context }).context).toBe(JSON.stringify(context))
  })
})

test('an event has its source, type and times', () => {
  const call = { userId: 'u', timestamp: '2026-01-01T00:00:00+01:00', sentAt: '2026-01-02T03:04:04.678Z' }
  expect(event('identify', call)).toMatchObject({
    sourceId: 'shop',
    type: 'identify',
    receivedAt: NOW,
    sentAt: NOW - 1_000,
    originalTimestamp: Date.parse('2025-12-31T23:00:00Z'),
    timestamp: Date.parse('2025-12-31T23:00:01Z'),
  })
})
