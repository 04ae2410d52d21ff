import { describe, expect, test } from 'vitest'
import type { Facts } from '../../../ingest/call/accept.ts'
import { acceptBatch } from '../../../ingest/call/batch.ts'

const facts: Facts = { sourceId: 'shop', receivedAt: 0, ip: '203.0.113.9', newId: () => 'made' }

/** Or the code of the rejection. */
function integrations(call: object, batch: object = {}): unknown {
  const accepted = acceptBatch(
    { value: { ...batch, batch: [{ type: 'identify', userId: 'u', ...call }] }, bytes: 1_000 },
    facts,
  )
  if (!accepted.ok) return accepted.code
  const [event] = accepted.events
  if (!event) return accepted.rejected[0]?.code
  return event.integrations === null ? null : JSON.parse(event.integrations)
}

const at = {
  top: (value: unknown) => ({ integrations: value }),
  context: (value: unknown) => ({ context: { integrations: value } }),
}

describe.each(['top', 'context'] as const)('at the %s level', (level) => {
  test.each<[unknown, unknown]>([
    [undefined, null],
    [null, null],
    [{}, {}],
    [{ All: true }, { All: true }],
    [{ All: false }, { All: false }],
    [{ All: null }, { All: null }],
    [{ all: false }, { All: false }],
    [{ all: true }, { All: true }],
    [{ all: null }, { all: null }],
    [{ All: null, all: false }, { All: false }],
    [
      { All: true, all: false },
      { All: true, all: false },
    ],
    [
      { All: false, Webhooks: { a: 1 } },
      { All: false, Webhooks: { a: 1 } },
    ],
    [
      { ALL: 'x', Webhooks: 'x' },
      { ALL: 'x', Webhooks: 'x' },
    ],
    [{ All: 'true' }, 'integrations_all_not_boolean'],
    [{ All: 1 }, 'integrations_all_not_boolean'],
    [{ all: 'false' }, 'integrations_all_not_boolean'],
    ['All', 'integrations_not_object'],
    [true, 'integrations_not_object'],
    [[{ All: true }], 'integrations_not_object'],
  ])('%j is %j, in a call and for a whole batch', (value, expected) => {
    expect(integrations(at[level](value))).toEqual(expected)
    expect(integrations({}, at[level](value))).toEqual(expected)
  })
})

describe('the top level wins over the context', () => {
  test.each<[unknown, unknown, unknown]>([
    [{ All: true }, { All: false }, { All: true }],
    [{}, { All: false }, {}],
    [null, { All: false }, { All: false }],
    [{ All: true }, 'x', { All: true }],
  ])('%j before %j', (top, inContext, expected) => {
    const value = { ...at.top(top), ...at.context(inContext) }
    expect(integrations(value)).toEqual(expected)
    expect(integrations({}, value)).toEqual(expected)
  })
})

describe("a call's win over the batch's, key by key at the first level", () => {
  test.each<[object, object, object]>([
    [{ All: false }, { Webhooks: true }, { All: false, Webhooks: true }],
    [{ All: false }, { All: true }, { All: true }],
    [{ All: false, CRM: false }, { CRM: true }, { All: false, CRM: true }],
    [{ CRM: { a: 1 } }, { CRM: { b: 2 } }, { CRM: { b: 2 } }],
    [{ All: false }, {}, { All: false }],
    [{ all: false }, { Webhooks: true }, { All: false, Webhooks: true }],
    [{ All: false }, { all: true }, { All: true }],
    [{ all: true }, { All: false }, { All: false }],
    [{ all: true }, { all: false }, { All: false }],
  ])('%j under %j', (batch, call, expected) => {
    for (const outer of [at.top, at.context])
      for (const inner of [at.top, at.context])
        expect(integrations(inner(call), outer(batch))).toEqual(expected)
  })

  test("null in a call keeps the batch's", () => {
    expect(integrations({ integrations: null, context: null }, at.top({ All: false }))).toEqual({
      All: false,
    })
    expect(integrations({ context: { integrations: null } }, at.context({ All: false }))).toEqual({
      All: false,
    })
  })

  test('a value that is not an object rejects the call', () => {
    expect(integrations({ integrations: 'x' }, at.top({ All: false }))).toBe('integrations_not_object')
  })
})
