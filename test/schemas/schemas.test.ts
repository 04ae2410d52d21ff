import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codec, schemaText } from '../../schemas/codec.ts'
import { modules, schemaNames } from '../../schemas/generate-types.ts'
import { topics } from '../../schemas/topics.ts'
import { aDelivery, anEvent } from '../helpers/events.ts'

const registry = { getSchema: () => Promise.reject(Object.assign(new Error('no such id'), { status: 404 })) }

describe.each(schemaNames)('schema %s', (name) => {
  test('documents every field and record', () => {
    const undocumented: string[] = []
    JSON.parse(schemaText(name), (_, value) => {
      const named = value?.name !== undefined
      if (named && !value.doc) undocumented.push(value.name)
      return value
    })
    expect(undocumented).toEqual([])
  })
})

test('the TypeScript types are generated from the schemas (npm run schemas)', () => {
  for (const { path, text } of modules()) expect(readFileSync(path, 'utf8')).toBe(text)
})

describe('a value in wire format', () => {
  const events = codec('event', 7, { client: registry })

  test('values of different codecs share no memory, as one may be held much longer', () => {
    const deliveries = codec('delivery', 7, { client: registry })
    const event = events.encode(anEvent())
    expect(events.encode(anEvent()).buffer).toBe(event.buffer)
    expect(deliveries.encode(aDelivery()).buffer).not.toBe(event.buffer)
  })

  test('begins with a zero byte and the schema id, and is read back as it was', async () => {
    const bytes = events.encode(anEvent())
    expect([...bytes.subarray(0, 5)]).toEqual([0, 0, 0, 0, 7])
    expect(await events.decode(bytes)).toEqual({ ok: true, value: anEvent() })
  })

  test('is independent of values encoded before and after it, whatever their size', () => {
    const sizes = fc.array(fc.oneof(fc.nat(2_000), fc.nat(20_000), fc.nat(200_000)), { maxLength: 60 })
    fc.assert(
      fc.property(sizes, (lengths) => {
        // ends with a byte that is not 0, as its neighbour begins with one
        const made = lengths.map((length, place) =>
          anEvent({ context: String(place % 10).repeat(length), originalTimestamp: 1 }),
        )
        const read = made.map((event) => events.encode(event)).map((bytes) => events.decode(bytes))
        expect(read).toEqual(made.map((value) => ({ ok: true, value })))
      }),
      { numRuns: 30 },
    )
  })

  test('takes little more memory than its length, whatever is encoded beside it', () => {
    const pieces = new Set<ArrayBufferLike>()
    let bytes = 0
    for (let index = 0; index < 200; index++)
      for (const length of [40_000, 100]) {
        const value = events.encode(anEvent({ context: 'x'.repeat(length) }))
        bytes += value.length
        pieces.add(value.buffer)
      }
    const held = [...pieces].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(held / bytes).toBeLessThan(1.4)
  })

  test('encoded as a variant has the same bytes as by itself', () => {
    const deliveries = codec('delivery', 7, { client: registry })
    const ids = fc.record({
      deliveryId: fc.string(),
      messageId: fc.string(),
      sourceId: fc.string(),
      destinationId: fc.string(),
    })
    const body = fc.oneof(
      fc.string(),
      fc.nat(40_000).map((length) => 'é'.repeat(length)),
    )
    fc.assert(
      fc.property(ids, fc.array(ids, { maxLength: 5 }), body, (first, others, text) => {
        const { encoded, another } = deliveries.encodeVariants(aDelivery({ ...first, body: text }), 'type')
        const made = [encoded, ...others.map(another)]
        const alone = [first, ...others].map((own) => deliveries.encode(aDelivery({ ...own, body: text })))
        expect(made.map(String)).toEqual(alone.map(String))
      }),
    )
  })

  test('that is truncated, not Avro, or null is undecodable', async () => {
    const bytes = events.encode(anEvent())
    for (const bad of [bytes.subarray(0, bytes.length - 3), Buffer.from('{"a":1}'), Buffer.alloc(0), null])
      expect(await events.decode(bad)).toMatchObject({ ok: false, reason: 'undecodable' })
  })

  describe('with a list', () => {
    const deliveries = codec('delivery', 7, { client: registry })
    const value = aDelivery({ refusedUrls: ['#'] })
    const bytes = deliveries.encode(value)
    // one byte each, before the text: the number of items, and the text's length
    const [list, text] = [bytes.indexOf('#') - 2, bytes.indexOf('#') - 1]
    const withCount = (...count: number[]) =>
      Buffer.concat([bytes.subarray(0, list), Buffer.from(count), bytes.subarray(text)])

    test.each([
      ['2^31', [0x80, 0x80, 0x80, 0x80, 0x10]],
      ['-2^31', [0xff, 0xff, 0xff, 0xff, 0x0f, 2]],
      ['2^52', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]],
    ])('that claims %s items is undecodable, and takes no memory', async (_what, count) => {
      expect(await deliveries.decode(withCount(...count))).toMatchObject({ ok: false, reason: 'undecodable' })
    })

    test('whose blocks have a size is decoded', async () => {
      expect(await deliveries.decode(withCount(1, 4))).toEqual({ ok: true, value })
    })
  })

  test('fails with different reasons when the registry does not know its schema, and when it cannot be reached', async () => {
    const bytes = events.encode(anEvent())
    bytes.writeUInt32BE(99, 1)
    expect(await events.decode(bytes)).toMatchObject({ reason: 'unknown_schema' })
    const away = codec('event', 7, {
      client: { getSchema: () => Promise.reject(Object.assign(new Error('refused'), { status: 400 })) },
    })
    expect(await away.decode(bytes)).toMatchObject({ reason: 'registry_unreachable' })
  })
})

describe('the table of topics', () => {
  const ladder = ['5s', '30s', '60m', '60m'].map((name) => ({ name, delayMs: 1 }))
  const table = topics({ ladder, dedupWindowMs: 3_600_000, windowMs: 4 * 3_600_000 })

  test('has one topic per distinct delay of the ladder', () => {
    const rungs = table.map(({ name }) => name).filter((name) => name.startsWith('deliveries.retry.'))
    expect(rungs).toEqual(['deliveries.retry.5s', 'deliveries.retry.30s', 'deliveries.retry.60m'])
  })

  test('states how long deliveries may have to wait: the retry window plus a day for outages', () => {
    const needs = table.filter(({ requiredMs }) => requiredMs !== undefined)
    expect(needs.map(({ name }) => name)).toEqual([
      'deliveries',
      'deliveries.due',
      'deliveries.retry.5s',
      'deliveries.retry.30s',
      'deliveries.retry.60m',
    ])
    for (const { requiredMs, retention } of needs) {
      expect(requiredMs).toBe(28 * 3_600_000)
      expect(retention).toBeGreaterThanOrEqual(requiredMs ?? 0)
    }
  })

  test('deletes by age in all topics that are not compacted', () => {
    expect(table.filter(({ retention }) => retention === 'compact').map(({ name }) => name)).toEqual([
      'config',
      'audience-members',
      'trait-values',
    ])
  })
})
