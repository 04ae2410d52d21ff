import { inspect } from 'node:util'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encode, idIn, isDeeper } from '../../../clients/node/encode.ts'
import { AnalyticsError } from '../../../clients/node/errors.ts'
import { accept } from '../../../ingest/call/accept.ts'
import { boundOf } from '../../../ingest/call/json.ts'
import { codePoint } from '../../helpers/code-point.ts'
import { thrownBy } from './service.ts'

const made = { messageId: 'made', timestamp: '2026-01-02T03:04:05.678Z' }
const track = (properties: unknown) => encode('track', { userId: 'u1', event: 'Counted', properties }, made)
const read = ({ json }: { json: string }) => JSON.parse(json)

describe('a call', () => {
  test('gets an id and a time if it has none', () => {
    expect(read(encode('page', { userId: 'u1' }, made))).toEqual({ type: 'page', ...made, userId: 'u1' })
  })

  test('keeps its own id and time', () => {
    const own = { messageId: 'own', timestamp: '2020-01-01' }
    expect(read(encode('page', { userId: 'u1', ...own }, made))).toMatchObject(own)
  })

  test('may have a Date as timestamp, even from another realm', () => {
    for (const timestamp of [new Date(0), runInNewContext('new Date(0)')])
      expect(read(encode('page', { userId: 'u1', timestamp }, made)).timestamp).toBe(
        '1970-01-01T00:00:00.000Z',
      )
  })

  test.each([
    ['an invalid Date', new Date('never')],
    ['a Date past the year 9999', new Date(8.64e15)],
    ['true', true],
  ])('is refused with %s as its time', (_what, timestamp) => {
    const error = thrownBy(() => encode('page', { userId: 'u1', timestamp }, made))
    expect(error).toMatchObject({ name: 'AnalyticsError', code: 'invalid_timestamp' })
  })

  test('round-trips, with the reported number of bytes', () => {
    const values = fc.dictionary(fc.string({ unit: codePoint }), fc.jsonValue({ stringUnit: codePoint }))
    fc.assert(
      fc.property(values, fc.string({ unit: codePoint, minLength: 1 }), (properties, event) => {
        const encoded = encode('track', { userId: 'u1', event, properties }, made)
        expect(read(encoded)).toEqual(
          JSON.parse(JSON.stringify({ type: 'track', ...made, userId: 'u1', event, properties })),
        )
        expect(Buffer.byteLength(encoded.json)).toBe(encoded.bytes)
        expect(encoded.json).not.toMatch(/[\u2028\u2029]/)
      }),
      { numRuns: 50 },
    )
  })

  test('is stored only as JSON, from which its id can be read', () => {
    const messageId = 'a "quoted" \u2028 id, \ud800 and é'
    const encoded = encode('page', { messageId, userId: 'u1' }, made)
    expect(Object.keys(encoded)).toEqual(['type', 'json', 'bytes'])
    expect(idIn(encoded)).toBe(messageId)
  })

  test('is neither kept nor changed: later changes are not sent', () => {
    const properties = Object.freeze({ list: Object.freeze([1]) })
    const call = { userId: 'u1', event: 'Counted', properties: { ...properties } }
    const before = structuredClone(call)
    const encoded = encode('track', call, made)
    expect(call).toEqual(before)
    call.event = 'Changed'
    call.properties.list = [2]
    expect(read(encoded)).toMatchObject({ event: 'Counted', properties: { list: [1] } })
  })
})

describe('an object within a call', () => {
  test('is what its toJSON returns', () => {
    expect(read(track({ toJSON: () => ({ a: 1 }) })).properties).toEqual({ a: 1 })
    expect(read(track({ when: new Date(0) })).properties).toEqual({ when: '1970-01-01T00:00:00.000Z' })
  })

  test.each([
    ['a Date', new Date(0)],
    ['a function', () => {}],
    ['a text', 'pro'],
    ['true', true],
    ['what prints as an array', { toJSON: () => [] }],
    ['a Map, which would be empty', new Map([['a', 1]])],
    ['a Map of another realm', runInNewContext('new Map()')],
    ['a Set, which would be empty', new Set([1])],
    ['a promise, which would be empty', Promise.resolve({ a: 1 })],
    ['what prints as a Map', { toJSON: () => new Map() }],
    ['a boxed text', new String('pro')],
    ['a boxed number', new Number(7)],
  ])('is refused as %s', (_what, properties) => {
    expect(thrownBy(() => track(properties))).toMatchObject({ code: 'properties_not_object' })
  })

  test.each([
    [
      'an instance of a class',
      new (class Plan {
        name = 'pro'
      })(),
    ],
    ['one without a prototype', Object.assign(Object.create(null), { name: 'pro' })],
    ['a Map that knows how it is printed', Object.assign(new Map(), { toJSON: () => ({ name: 'pro' }) })],
  ])('may be %s', (_what, properties) => {
    expect(read(track(properties)).properties).toEqual({ name: 'pro' })
  })

  test('is named by its kind in the error', () => {
    expect(String(thrownBy(() => track(new Map())))).toMatch(/properties must be an object, not a Map\./)
  })

  test('has 0 for -0, like an id', () => {
    expect(track({ a: -0, list: [-0] }).json).toContain('"properties":{"a":0,"list":[0]}')
    expect(read(encode('page', { userId: -0 }, made)).userId).toBe('0')
  })

  test('loses values without a JSON form, and NaN becomes null', () => {
    expect(read(track({ a: undefined, b: () => {}, c: Number.NaN, d: 1 })).properties).toEqual({
      c: null,
      d: 1,
    })
  })
})

describe('the integrations of the context', () => {
  const page = (context: unknown, integrations?: unknown) =>
    encode('page', { userId: 'u1', context, integrations }, made)

  test('are checked if the call has none of its own, as the service does', () => {
    expect(thrownBy(() => page({ integrations: { All: 'false' } }))).toMatchObject({
      code: 'integrations_all_not_boolean',
      message: 'context.integrations.All must be true or false, not a string.',
    })
    expect(thrownBy(() => page({ integrations: ['CRM'] }, null))).toMatchObject({
      code: 'integrations_not_object',
    })
    expect(thrownBy(() => page({ integrations: new Map() }))).toMatchObject({
      code: 'integrations_not_object',
    })
    expect(read(page({ integrations: null })).context).toEqual({ integrations: null })
  })

  test('are ignored next to its own', () => {
    expect(read(page({ integrations: 7 }, { All: true })).context).toEqual({ integrations: 7 })
  })
})

describe('nesting', () => {
  /** That many nested arrays. */
  const nested = (levels: number, inner: unknown = []): unknown =>
    levels === 1 ? inner : [nested(levels - 1, inner)]
  const facts = { sourceId: 'shop', receivedAt: 0, ip: '203.0.113.9', newId: () => 'made' }

  test.each([
    ['arrays', (levels: number) => ({ a: nested(levels) })],
    ['what toJSON gives', (levels: number) => ({ a: { toJSON: () => nested(levels, {}) } })],
    ['many brackets in texts', (levels: number) => ({ '[{"': '\\"[[{{'.repeat(99), a: nested(levels) })],
  ])('of %s may have 64 levels including the call and its part, as for ingest', (_of, properties) => {
    const encoded = track(properties(62))
    expect(accept(read(encoded), facts)).toMatchObject({ ok: true })
    expect(thrownBy(() => track(properties(63)))).toMatchObject({ code: 'too_deep' })
    const deeper = JSON.parse(JSON.stringify({ ...read(encoded), properties: properties(63) }))
    expect(accept(deeper, facts)).toEqual({ ok: false, code: 'too_deep' })
  })

  test('is reported before the size', () => {
    expect(thrownBy(() => track({ a: nested(63), p: 'x'.repeat(40_000) }))).toMatchObject({
      code: 'too_deep',
    })
  })

  test('that is very deep is reported the same way', () => {
    let deep: unknown[] = []
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(thrownBy(() => track({ deep }))).toMatchObject({ code: 'too_deep' })
  })

  test('is counted as ingest counts it, for any JSON', () => {
    const values = fc.jsonValue({ maxDepth: 8, depthSize: 'max' })
    fc.assert(
      fc.property(values, fc.integer({ min: 0, max: 8 }), (value, most) => {
        expect(isDeeper(JSON.stringify(value), most)).toBe(boundOf(value, most) === Number.POSITIVE_INFINITY)
      }),
    )
  })
})

describe('a call that JSON cannot represent is rejected, with the cause', () => {
  const circle: Record<string, unknown> = {}
  circle.itself = circle
  const cause = new Error('no')
  const throws = () => {
    throw cause
  }

  test.each([
    ['a circle', circle],
    ['a BigInt', { a: 1n }],
    ['a toJSON that throws', { a: { toJSON: throws } }],
    ['its own toJSON that throws', { toJSON: throws }],
    ['a getter that throws', Object.defineProperty({}, 'a', { get: throws, enumerable: true })],
    ['a proxy that throws', new Proxy({}, { get: throws })],
    [
      'a toJSON whose error cannot be read',
      {
        toJSON: () => {
          throw Object.defineProperty(new Error('no'), 'message', { get: throws })
        },
      },
    ],
  ])('%s', (_what, properties) => {
    const error = thrownBy(() => track(properties))
    expect(error).toMatchObject({ name: 'AnalyticsError', code: 'not_serialisable' })
    expect(error).toHaveProperty('cause', expect.any(Error))
  })
})

describe('an argument that is not a call is rejected', () => {
  test.each([undefined, null, 'u1', 7, ['u1'], () => {}])('%s', (call) => {
    expect(thrownBy(() => encode('identify', call, made))).toMatchObject({ code: 'call_not_object' })
  })

  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [['u1'], 'an array'],
    ['u1', 'a string'],
    [7, 'a number'],
    [7n, 'a BigInt'],
    [true, 'a boolean'],
    [Symbol('u1'), 'a symbol'],
    [() => {}, 'a function'],
  ])('and said to be what it is: %s', (call, kind) => {
    expect(String(thrownBy(() => encode('identify', call, made)))).toMatch(new RegExp(`, not ${kind}\\.$`))
  })

  test('a misspelt field is named, with the valid ones', () => {
    const error = thrownBy(() => encode('track', { userId: 'u1', event: 'Counted', propertes: {} }, made))
    expect(error).toMatchObject({
      code: 'unknown_field',
      message: expect.stringMatching(/propertes.*properties/),
    })
  })

  test('an unknown field that is undefined is ignored', () => {
    expect(read(encode('page', { userId: 'u1', extra: undefined }, made))).not.toHaveProperty('extra')
  })
})

test('an error has no undefined fields', () => {
  const error = thrownBy(() => encode('identify', {}, made))
  expect(Object.keys(error as object).sort()).toEqual(['code', 'name'])
  expect(inspect(error)).not.toMatch(/undefined|cause/)
  const more = new AnalyticsError('gave_up', 'm', { status: 503, tries: 3, cause: 'c' })
  expect(inspect(more)).toMatch(/status: 503/)
  expect(Object.keys(more).sort()).toEqual(['code', 'name', 'status', 'tries'])
  expect(more.cause).toBe('c')
})

test('the error of a call that is too large has its size and the limit', () => {
  const { message } = thrownBy(() => track({ p: 'x'.repeat(40_000) })) as Error
  expect(message).toMatch(/32768 bytes/)
  expect(message).toMatch(/40\d\d\d/)
})

test('no error message contains a value of the call', () => {
  const secret = 'secret-value'
  const faults = [
    { userId: [secret], event: 'Counted' },
    { userId: 'u1', event: [secret] },
    { userId: 'u1', event: 'Counted', properties: secret },
    { userId: 'u1', event: 'Counted', timestamp: secret },
    { userId: 'u1', event: 'Counted', messageId: secret.repeat(20) },
    { userId: 'u1', event: 'Counted', integrations: { All: secret } },
    { userId: 'u1', event: 'Counted', properties: { a: secret.repeat(10_000) } },
  ]
  for (const call of faults) expect(String(thrownBy(() => encode('track', call, made)))).not.toContain(secret)
})
