import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callJson } from '../../../control/activity/records/call-json.ts'
import { callShape, testEvent } from '../../../control/settings/test-call.ts'
import { render } from '../../../delivery/render.ts'
import { accept } from '../../../ingest/call/accept.ts'
import type { Event } from '../../../schemas/event.ts'
import { CALL_TYPES } from '../../../settings/settings.ts'
import { codePoint } from '../../helpers/code-point.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const facts = { sourceId: 'shop', receivedAt: now, ip: '203.0.113.9', newId: () => 'm1' }

/** Undefined: ingest rejects the call. */
function ingested(call: unknown): Event | undefined {
  const accepted = accept(call, facts)
  return accepted.ok ? accepted.event : undefined
}

/** Undefined: the test refuses the call. */
function tested(call: unknown): string | undefined {
  const parsed = callShape.safeParse(call)
  return parsed.success ? render(testEvent(parsed.data, { uuid: 'f00d', now, sourceId: 'shop' })) : undefined
}

const absent = fc.constantFrom(undefined, null)
const id = fc.oneof(
  absent,
  fc.constantFrom('', '\ud800'),
  fc.string({ maxLength: 5 }),
  fc.maxSafeInteger(),
  fc.double(),
)
// half of a surrogate pair
const text = fc.oneof(absent, fc.constantFrom('', '\ud800'), fc.string({ unit: codePoint, maxLength: 5 }))
const object = fc.oneof(
  absent,
  // ingest keeps a key with this name, but no client sends one
  fc.dictionary(
    fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
    fc.jsonValue({ maxDepth: 2 }),
  ),
)
const aCall = fc
  .record({
    type: fc.constantFrom(...CALL_TYPES),
    ...{ userId: id, anonymousId: id, groupId: id, previousId: id },
    ...{ event: text, name: text, category: text },
    ...{ properties: object, traits: object, context: object },
    timestamp: fc.option(
      fc
        .date({ min: new Date(0), max: new Date(now), noInvalidDate: true })
        .map((date) => date.toISOString()),
      { nil: undefined },
    ),
  })
  // as it arrives
  .map((call) => JSON.parse(JSON.stringify(call)))
  // ingest fills in the address of such a client
  .filter(({ context }) => context?.direct !== true)

describe('a tested call', () => {
  test('is taken or refused as ingest does, and posts what the router renders', () => {
    let taken = 0
    fc.assert(
      fc.property(aCall, (call) => {
        const event = ingested(call)
        if (event) taken++
        expect(tested(call)).toBe(event && render(event))
      }),
      { numRuns: 500 },
    )
    expect(taken).toBeGreaterThan(50)
  })

  test('that a search or a live stream shows posts what the delivery of its event posted', () => {
    fc.assert(
      fc.property(aCall, fc.integer({ min: -60_000, max: 60_000 }), (call, skew) => {
        const event = ingested({
          ...call,
          integrations: { All: true },
          sentAt: new Date(now + skew).toISOString(),
        })
        if (event) expect(tested(callJson(event))).toBe(render(event))
      }),
      { numRuns: 500 },
    )
  })
})
