import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { entryId, entryOf, isFirstRecord, listedOf } from '../../../../control/activity/deliveries/listed.ts'
import { isMatch } from '../../../../control/activity/deliveries/search.ts'
import { matchesStatus, statusShape } from '../../../../control/activity/records/query-fields.ts'
import { subjectOf } from '../../../../control/activity/records/subject.ts'
import { deliveryKey, deliveryOf } from '../../../../delivery/routing/routing.ts'
import { codePoint } from '../../../helpers/code-point.ts'
import { aDelivery, anEvent } from '../../../helpers/events.ts'

test('the id of an entry names its place', () => {
  const offset = fc.integer({ min: 0, max: 999_999_999_999_999 })
  const entry = fc.record({ routed: fc.boolean(), partition: fc.integer({ min: 0, max: 999 }), offset })
  fc.assert(fc.property(entry, (each) => void expect(entryOf(entryId(each))).toEqual(each)))
})

test.each(['', 'd1', 'd1-', 'x1-2', 'd-1-2', 'd1-2 ', 'd1-1e3', 'd1-1234567890123456'])(
  '%j names no entry',
  (id) => expect(entryOf(id)).toBeUndefined(),
)

describe('the subject of a delivery', () => {
  const text = fc.string({ unit: codePoint, maxLength: 20 })
  const id = fc.option(fc.string({ unit: codePoint, minLength: 1, maxLength: 20 }))
  const properties = fc.option(fc.constantFrom('{}', '{"name":"P"}', '{"event":"E","a":{"name":"N"}}'))
  const event = fc.record({
    type: fc.constantFrom('track', 'page', 'screen', 'identify', 'group', 'alias', 'delete'),
    userId: id,
    anonymousId: id,
    event: text,
    name: fc.option(text),
    properties,
  })

  test('is read from whatever body the router renders', () => {
    fc.assert(
      fc.property(event, (fields) => {
        const made = anEvent(fields)
        const subject = subjectOf(deliveryOf(made, 'crm', 0), deliveryKey('crm', made))
        const user = made.userId ?? made.anonymousId
        const named = {
          track: made.event,
          screen: made.name,
          page: made.properties === '{"name":"P"}' ? 'P' : made.name,
        }
        expect(subject).toEqual({ user, event: named[made.type as keyof typeof named] ?? null })
      }),
    )
  })

  test.each([
    ['of another writer, in another order', '{"event":"Paid","type":"track"}', 'Paid'],
    ['that is no JSON', '{"event', null],
    ['whose name is no text', '{"version":1,"type":"track","event":7}', null],
  ])('is read from a body %s', (_, body, name) => {
    expect(subjectOf({ type: 'track', body }, 'crm/u/1')).toEqual({ event: name, user: 'u/1' })
  })

  // it may be a user's
  test.each([
    ['track', '{"email":"jane@crm.example","name":"Jane Doe"}'],
    ['track', '{"version":1,"type":"track","userId":"u1","name":"Jane Doe"}'],
    ['page', '{"name":"Jane Doe"}'],
    ['page', '{"properties":{"name":"Jane Doe"}}'],
    ['screen', '{"type":"screen","name":"Jane Doe"}'],
    // they begin like Sluice's own bodies
    ['page', '{"version":1,"type":"page","userId":"u1","name":"Jane Doe","properties":{}}'],
    ['page', '{"version":1,"type":"page","userId":"u1","properties":{"name":"Jane Doe"}}'],
    ['page', '{"version":1,"type":"page","name":"Jane Doe","properties":{},"timestamp":"t","context":{}}'],
    ['screen', '{"version":1,"type":"screen","userId":"u1","name":"Jane Doe","email":"jane@crm.example"}'],
    ['screen', '{"version":1,"type":"screen","name":"Jane Doe"}'],
    ['screen', '{"version":2,"type":"screen","name":"Jane Doe","timestamp":"t","context":{}}'],
    ['screen', '{"version":1,"type":"page","name":"Jane Doe","timestamp":"t","context":{}}'],
    ['screen', '{"version":1,"type":"screen","user":"u1","name":"Jane Doe","timestamp":"t","context":{}}'],
    ['screen', '{"version":1,"type":"screen","name":"Jane Doe","timestamp":"t","context":{},"age":7}'],
  ])('has no name under `name` in a body of a shape: %s %s', (type, body) => {
    expect(subjectOf({ type, body }, 'crm/u1')).toEqual({ event: null, user: 'u1' })
  })

  test('is read from a body with millions of escapes', () => {
    const body = `{"version":1,"type":"track","userId":"${'\\a'.repeat(4_000_000)}","event":"Paid"}`
    expect(subjectOf({ type: 'track', body }, 'crm/u').event).toBe('Paid')
  })

  test('is read without parsing the body: 32 KB with 4,000 names took 1.5 ms for each delivery', () => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    const names = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`n${index}`, 0]))
    const page = { version: 1, type: 'page', properties: { name: 'Home' }, timestamp: 't', context: names }
    const body = JSON.stringify(page)
    expect(subjectOf({ type: 'page', body }, 'crm/u').event).toBe('Home')
    expect(parse.mock.calls.map(([text]) => text.length)).toEqual(['"Home"'.length])
  })
})

test('a replay lists its first record only; a retry is not listed', () => {
  const replay = aDelivery({ replay: true })
  expect(isFirstRecord(replay, false)).toBe(true)
  expect(isFirstRecord({ ...replay, attempt: 1 }, false)).toBe(false)
  expect(isFirstRecord({ ...replay, deferrals: 1 }, false)).toBe(false)
  expect(isFirstRecord(aDelivery(), false)).toBe(false)
  expect(isFirstRecord(aDelivery(), true)).toBe(true)
})

test('a delivery matches if every condition does', () => {
  const entry = { routed: true, partition: 0, offset: 0 }
  const listed = listedOf(aDelivery({ body: '{"version":1,"type":"track","event":"Paid"}' }), 'crm/u1', entry)
  const conditions = { destinationId: 'crm', sourceId: 'shop', event: 'Paid', user: 'u1', messageId: 'm1' }
  fc.assert(
    fc.property(fc.subarray(Object.entries(conditions)), fc.boolean(), (given, isOther) => {
      const asked = Object.fromEntries(given)
      const isWrong = isOther && given.length > 0
      const query = isWrong ? { ...asked, [given[0]?.[0] ?? '']: 'other' } : asked
      expect(isMatch(listed, query)).toBe(!isWrong)
    }),
  )
})

test('a status matches itself and its class', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 999 }), fc.integer({ min: 100, max: 999 }), (status, other) => {
      const [exact, group] = [`${status}`, `${String(status)[0]}xx`]
      expect([exact, group].map((each) => statusShape.safeParse(each).success)).toEqual([true, true])
      expect(matchesStatus(exact)(status)).toBe(true)
      expect(matchesStatus(exact)(other)).toBe(status === other)
      expect(matchesStatus(group)(other)).toBe(Math.floor(status / 100) === Math.floor(other / 100))
      expect(matchesStatus(group)(null)).toBe(false)
    }),
  )
  for (const wrong of ['0xx', '4x', '44x', '40', '4040', 'xx4', ''])
    expect(statusShape.safeParse(wrong).success).toBe(false)
})
