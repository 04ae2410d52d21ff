import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { batchSize, bodyOf } from '../../../clients/node/batch.ts'
import type { CallType } from '../../../clients/node/calls.ts'
import { encode } from '../../../clients/node/encode.ts'
import { Analytics, AnalyticsError } from '../../../clients/node/index.ts'
import { CODES } from '../../../ingest/answer.ts'
import { accept } from '../../../ingest/call/accept.ts'

type Call = { type: CallType } & Record<string, unknown>
type Case = { name: string; only?: string; call: Call; pad?: Pad; json?: string; error?: string }
type Pad = { path: string; bytes: number }
type Split = { name: string; only?: string; flushAt?: number; sizes: number[]; batches: number[][] }

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), 'utf8'))
const ours = ({ only = 'node' }: { only?: string }) => only === 'node'
const calls = (read('calls') as Case[]).filter(ours)
const splits = (read('batches') as Split[]).filter(ours)

const never = { messageId: 'unused', timestamp: 'unused' }

/** The item as text, or the code that refuses it. */
function outcomeOf({ type, ...call }: Call): string {
  try {
    return encode(type, call, never).json
  } catch (error) {
    if (error instanceof AnalyticsError) return error.code
    throw error
  }
}

/** Until the item has its bytes. */
function padded({ call, pad, json }: Case): { call: Call; json: string | undefined } {
  if (!pad) return { call, json }
  expect(pad.path).toBe('properties.p')
  const item = json ?? JSON.stringify(call).replace(/[\u2028\u2029]/g, '\\u2028')
  const letters = 'x'.repeat(pad.bytes - Buffer.byteLength(item))
  const properties = { ...(call.properties as object), p: letters }
  return { call: { ...call, properties }, json: json?.replace('"p":""', `"p":"${letters}"`) }
}

test.each(calls)('$name', (vector) => {
  const { call, json } = padded(vector)
  expect(outcomeOf(call)).toBe(json ?? vector.error)
})

describe('ingest', () => {
  const facts = { sourceId: 'shop', receivedAt: 0, ip: '203.0.113.9', newId: () => 'made' }
  const codes: ReadonlySet<string | undefined> = new Set(CODES)
  /** The library takes 1.5 for a text, and counts a separator as 3 bytes, where 6 are sent. */
  const stricter = /no whole number|escapes count/
  const refused = calls.filter(({ name, error }) => codes.has(error) && !stricter.test(name))

  test.each(calls.filter(({ json }) => json))('takes what is sent: $name', (vector) => {
    const { json = '' } = padded(vector)
    const event = { messageId: vector.call.messageId, originalTimestamp: expect.any(Number) }
    expect(accept(JSON.parse(json), facts)).toMatchObject({ ok: true, event })
  })

  test.each(calls.filter(({ error }) => error === 'invalid_timestamp'))(
    'reads no time from what is not sent: $name',
    ({ call }) => {
      expect(accept(call, facts)).toMatchObject({ ok: true, event: { originalTimestamp: null } })
    },
  )

  test.each(refused)('refuses what is refused: $name', (vector) => {
    expect(accept(padded(vector).call, facts)).toEqual({ ok: false, code: vector.error })
  })
})

test('there are vectors of each type, taken and refused', () => {
  const types = new Set(Object.getOwnPropertyNames(Analytics.prototype))
  for (const { call } of calls) expect(types).toContain(call.type)
  expect(calls.filter(({ json }) => json).length).toBeGreaterThan(40)
  expect(calls.filter(({ error }) => error).length).toBeGreaterThan(20)
})

describe('a queue is split', () => {
  test.each(splits)('$name', ({ sizes, batches, flushAt = 20 }) => {
    const split: number[][] = []
    for (let from = 0; from < sizes.length; ) {
      const count = batchSize(
        sizes.slice(from).map((bytes) => ({ bytes })),
        { flushAt },
      )
      split.push(Array.from({ length: count }, (_, index) => from + index))
      from += count
    }
    expect(split).toEqual(batches)
  })

  test('at exactly what a body comes to', () => {
    const fullest = splits.find(({ name }) => name.includes('512,000'))
    const texts = fullest?.sizes.map((bytes) => ({ json: 'x'.repeat(bytes) })) ?? []
    expect(Buffer.byteLength(bodyOf(texts, new Date().toISOString()))).toBe(512_000)
  })
})
