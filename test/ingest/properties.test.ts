import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statusOf } from '../../ingest/answer.ts'
import { accept, type Facts } from '../../ingest/call/accept.ts'
import { authenticate } from '../../ingest/call/authenticate.ts'
import { acceptBatch } from '../../ingest/call/batch.ts'
import { decide, refuse } from '../../ingest/call/decide.ts'
import { boundOf, jsonBytes, parseBody } from '../../ingest/call/json.ts'
import type { Event } from '../../schemas/event.ts'
import { CALL_TYPES } from '../../settings/settings.ts'
import { codecs } from './fake.ts'

const facts: Facts = {
  sourceId: 'shop',
  receivedAt: 1_767_323_045_678,
  ip: '203.0.113.9',
  newId: () => 'made',
}
const known = { ...facts, suppressed: undefined }

/** Some take six bytes of JSON: control characters and half a surrogate pair. */
const character = fc.oneof(
  fc.string({ minLength: 1, maxLength: 1 }),
  fc.constantFrom('"', '\u0001', '\ud800', 'é', '€'),
)
/** With `__proto__` keys. */
const anyJson = fc.json({ maxDepth: 6, stringUnit: character }).map((text): unknown => JSON.parse(text))
const anyId = fc.oneof(fc.string(), fc.constant(null), fc.integer(), anyJson)
const anyTime = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.string(),
  fc.integer(),
  fc.constant(null),
)
const anyObject = fc.oneof(fc.dictionary(fc.string(), anyJson), anyJson)

const anyCall = fc.record(
  {
    type: fc.constantFrom(...CALL_TYPES, 'delete', null),
    userId: anyId,
    anonymousId: anyId,
    groupId: anyId,
    previousId: anyId,
    messageId: anyId,
    event: anyId,
    name: anyJson,
    timestamp: anyTime,
    sentAt: anyTime,
    properties: anyObject,
    traits: anyObject,
    context: anyObject,
    integrations: anyObject,
  },
  { requiredKeys: [] },
)

const columns = ['properties', 'traits', 'context', 'integrations'] as const

/** Kafka's readers get the event back as it is. */
function expectKept(event: Event): void {
  expect(codecs.event.decode(codecs.event.encode(event))).toEqual({ ok: true, value: event })
  for (const column of columns) {
    const text = event[column]
    if (text !== null) expect(JSON.stringify(JSON.parse(text))).toBe(text)
  }
}

test('any JSON value is accepted or has a code, on every route', () => {
  fc.assert(
    fc.property(fc.oneof(anyJson, anyCall), fc.constantFrom(...CALL_TYPES), (call, type) => {
      const accepted = accept(call, facts, type)
      if (accepted.ok) expectKept(accepted.event)
      else expect(statusOf(accepted.code)).toBeGreaterThanOrEqual(400)
    }),
    { numRuns: 500 },
  )
})

test('each call of any batch is either accepted or rejected', () => {
  const anyBatch = fc.record(
    {
      batch: fc.array(fc.oneof(anyJson, anyCall), { minLength: 1 }),
      context: anyObject,
      integrations: anyObject,
      sentAt: anyTime,
    },
    { requiredKeys: ['batch'] },
  )
  fc.assert(
    fc.property(anyBatch, (body) => {
      const accepted = acceptBatch({ value: body, bytes: 512_000 }, facts)
      if (!accepted.ok) throw new Error(accepted.code)
      expect(accepted.events.length + accepted.rejected.length).toBe(body.batch.length)
      accepted.events.forEach(expectKept)
    }),
    { numRuns: 300 },
  )
})

test('any bytes get an answer with a code', () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.string().map((text) => new TextEncoder().encode(text)),
  )
  fc.assert(
    fc.property(
      bytes,
      fc.constantFrom('batch' as const, 'track' as const),
      fc.constantFrom('key', undefined),
      (body, type, writeKey) => {
        const received = { type, writeKey, body: Buffer.from(body) }
        const sent = authenticate(received, () => ({ id: 'shop', enabled: true }))
        const { answer } = 'refused' in sent ? refuse(sent.refused, sent.sourceId) : decide(sent, known)
        expect(JSON.parse(answer.body)).toHaveProperty(answer.status === 200 ? 'success' : 'code')
      },
    ),
  )
})

test('the bound of a value is never below its size as JSON', () => {
  fc.assert(fc.property(anyJson, (value) => boundOf(value, 64) >= jsonBytes(value)))
})

test('a body is read exactly, or invalid UTF-8 is reported', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const parsed = parseBody(Buffer.from(bytes))
      if (parsed.ok || parsed.code === 'invalid_json')
        expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).not.toThrow()
    }),
  )
})
