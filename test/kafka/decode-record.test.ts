import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BatchContext, decodeRecord, type RecordBytes } from '../../kafka/protocol/decode-batches.ts'

const require = createRequire(import.meta.url)
const Decoder: new (bytes: Buffer) => RecordBytes = require('kafkajs/src/protocol/decoder')
const theirDecoder: typeof decodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0/decoder')
const encode: (record: object) => { buffer: Buffer } = require('kafkajs/src/protocol/recordBatch/record/v0')

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const field = fc.option(bytes, { nil: null })
// kafkajs makes lists of names that every object has
const name = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !(text in {}))
const record = fc.record({
  offsetDelta: fc.nat(),
  timestampDelta: fc.nat(1_000_000),
  key: field,
  value: field,
  headers: fc.dictionary(name, fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 })), {
    maxKeys: 4,
  }),
})
const context: fc.Arbitrary<BatchContext> = fc.record({
  firstOffset: fc.maxSafeNat().map((offset) => String(Math.floor(offset / 2))),
  firstTimestamp: fc.nat(2_000_000_000).map((seconds) => String(seconds * 1_000)),
  maxTimestamp: fc.constantFrom('1764000000000', '0'),
  magicByte: fc.constant(2),
  isControlBatch: fc.boolean(),
  timestampType: fc.constantFrom(0, 1),
})

/** Without the length, which the reader of the batch consumes. */
function recordBytes(one: object): Buffer {
  const { buffer } = encode(one)
  let start = 0
  while ((buffer[start] ?? 0) >= 0x80) start += 1
  return buffer.subarray(start + 1)
}

const plain = (decoded: ReturnType<typeof decodeRecord>) => ({
  ...decoded,
  headers: Object.entries(decoded.headers),
})

test('each record is decoded like kafkajs does', () => {
  fc.assert(
    fc.property(record, context, (one, batch) => {
      const encoded = recordBytes(one)
      expect(plain(decodeRecord(new Decoder(encoded), batch))).toEqual(
        plain(theirDecoder(new Decoder(encoded), batch)),
      )
    }),
  )
})

test('any header name is only a name', () => {
  const headers = Object.fromEntries([['__proto__', Buffer.from('a')]])
  const encoded = recordBytes({ offsetDelta: 0, timestampDelta: 0, key: null, value: null, headers })
  const batch = { firstOffset: '0', firstTimestamp: '0', maxTimestamp: '0', magicByte: 2, timestampType: 0 }
  expect(Object.entries(decodeRecord(new Decoder(encoded), batch).headers)).toEqual([
    ['__proto__', Buffer.from('a')],
  ])
})

test('decoding does not read past the end of a truncated record', () => {
  const cut = recordBytes({
    offsetDelta: 1,
    timestampDelta: 1,
    key: null,
    value: Buffer.from('abc'),
    headers: {},
  })
  const batch = { firstOffset: '0', firstTimestamp: '0', maxTimestamp: '0', magicByte: 2, timestampType: 0 }
  expect(() => decodeRecord({ buffer: cut.subarray(0, -1), offset: 0 }, batch)).toThrow(RangeError)
})
