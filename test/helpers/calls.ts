import { expect } from 'vitest'

/** A call as the HTTP API has it, for a client library to send. */
export type Call = {
  type: 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'
  context?: object
  timestamp?: string | Date
  [field: string]: unknown
}

/** The time of each of these calls that has one. */
const past = '2026-01-02T03:04:05.678+00:00'

/** Calls that every client library can send. */
export const calls: readonly Call[] = [
  { type: 'identify', userId: 'u', traits: { plan: 'pro', address: { city: 'Köln' } }, timestamp: past },
  {
    type: 'track',
    userId: 'u',
    anonymousId: 'a',
    event: 'Grüße ✓',
    properties: { total: 99.95, of: [1, 'x'] },
  },
  { type: 'track', userId: 'u', event: 'Chosen', integrations: { All: false, Webhooks: true } },
  { type: 'track', userId: 'u', event: 'Named', messageId: 'bestellt-ü ✓' },
  { type: 'track', userId: 'u', event: 'Abroad', timestamp: '2026-01-02T05:04:05.678+02:00' },
  { type: 'page', anonymousId: 'a', name: 'Home', properties: { url: 'https://shop.example/' } },
  { type: 'screen', userId: 'u', name: 'Cart', context: { ip: '203.0.113.7', os: { name: 'iOS' } } },
  { type: 'group', userId: 'u', groupId: 'acme', traits: { size: 3 } },
  { type: 'alias', userId: 'u', previousId: 'a' },
  // more than fit in one request
  ...Array.from({ length: 50 }, (_, n): Call => ({ type: 'track', userId: `u${n}`, event: 'Many' })),
]

/** Calls that only some libraries can send. */
export const dated: Call = { type: 'page', userId: 'u', category: 'Shop', timestamp: new Date(past) }
export const numbered: readonly Call[] = [
  { type: 'identify', userId: 42 },
  { type: 'group', userId: 43, groupId: 7 },
  { type: 'alias', userId: 44, previousId: 4.5 },
  { type: 'page', userId: 45, category: 'Shop', timestamp: '2026-01-02T03:04:05.678' },
]

/** Of three calls, ingest rejects one. The libraries reject none. */
export const oneTooDeep: readonly Call[] = [
  { type: 'track', userId: 'u1', event: 'Good' },
  { type: 'track', userId: 'u2', event: 'Deep', properties: { deep: nested(70) } },
  { type: 'track', userId: 'u3', event: 'Good' },
]

function nested(levels: number): object {
  return levels === 0 ? {} : { in: nested(levels - 1) }
}

/** The columns of a call's event, with JSON parsed. An id or time that the call lacks comes from the library. */
export function columns({ type, context, timestamp, ...fields }: Call, library: string): object {
  const own = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'number' ? String(value) : value,
  ])
  return {
    messageId: expect.stringMatching(/^.{1,100}$/),
    userId: null,
    anonymousId: null,
    originalTimestamp: timestamp === undefined ? expect.any(Number) : Date.parse(past),
    ...Object.fromEntries(own),
    type,
    context: { ...context, library: { name: library, version: expect.any(String) } },
  }
}

/** Partitions come in any order. */
export const inOrder = (rows: readonly object[]): object[] =>
  rows.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))

function placeOf(row: object): string {
  const { type, userId, event } = row as Record<string, unknown> // of a call or an event, which both have them
  return [type, userId, event].join(' ')
}
