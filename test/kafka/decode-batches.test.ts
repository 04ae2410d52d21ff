import { createRequire } from 'node:module'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { crc32c } from '@node-rs/crc32'
import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../kafka/consume/record.ts'
import { originalBatchesDecoder } from '../../kafka/patches/fetch-decoder.ts'
import { batchesDecoder, batchFaultOf } from '../../kafka/protocol/decode-batches.ts'
import { measure, writeBatch } from '../../kafka/protocol/encode-produce.ts'
import { skipUndecodable } from '../../kafka/tables/follower.ts'

const require = createRequire(import.meta.url)
const Decoder: new (
  bytes: Buffer,
) => { buffer: Buffer; offset: number } = require('kafkajs/src/protocol/decoder')
/** What kafkajs makes of a partition's messages. */
const Batch: new (
  topic: string,
  fetchedOffset: string,
  partitionData: object,
) => { messages: unknown[]; isEmptyDueToFiltering(): boolean; lastOffset(): string } =
  require('kafkajs/src/consumer/batch')

type Of = {
  count?: number
  firstOffset?: number
  value?: string
  transactional?: boolean
  /** Its number in the attributes, and the compression of the records. */
  codec?: [number, (records: Buffer) => Buffer] | undefined
  /** Bits besides codec and transaction. */
  attributes?: number
}

const HEADER_BYTES = 61

/** As in the response to a fetch. */
function aBatch(of: Of = {}): Buffer {
  const { count = 3, firstOffset = 0, value = 'v', transactional = false, attributes = 0 } = of
  const messages = Array.from({ length: count }, (_, index) => ({
    key: `k${index}`,
    value: `${value}${index}`,
    headers: index % 2 ? { a: 'b' } : {},
  }))
  const plain = measure({
    messages,
    timestamp: 1_764_000_000_000,
    producerId: 7n,
    producerEpoch: 0,
    firstSequence: 0,
    transactional,
  })
  const bytes = Buffer.alloc(plain.bytes)
  writeBatch(bytes, 0, plain)
  const [number, compress] = of.codec ?? [0, (records: Buffer) => records]
  const whole = Buffer.concat([bytes.subarray(0, HEADER_BYTES), compress(bytes.subarray(HEADER_BYTES))])
  whole.writeBigInt64BE(BigInt(firstOffset), 0)
  whole.writeInt16BE(whole.readInt16BE(21) | number | attributes, 21)
  return sealed(whole)
}

/** Sets length and checksum. */
function sealed(batch: Buffer): Buffer {
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

/** As in a partition that a client reads: after their length, with other bytes around. */
function fetched(...batches: Buffer[]) {
  const records = Buffer.concat(batches)
  const size = Buffer.alloc(4)
  size.writeInt32BE(records.length)
  const bytes = new Decoder(Buffer.concat([Buffer.from('before'), size, records, Buffer.from('after')]))
  bytes.offset = 6
  return { bytes, end: 6 + 4 + records.length }
}

async function decoded(decode: ReturnType<typeof batchesDecoder>, ...batches: Buffer[]) {
  const { bytes, end } = fetched(...batches)
  const messages = await decode(bytes)
  expect(bytes.offset).toBe(end)
  return messages
}

const ours = () => batchesDecoder(originalBatchesDecoder)
const offsets = (messages: readonly { offset: string }[]) => messages.map(({ offset }) => Number(offset))

/** Of a message that represents a whole batch. */
const faultIn = (messages: readonly object[], index = 0) => batchFaultOf(messages[index] as Message)

/** Fetched until it counts as damaged. */
async function damaged(...batches: Buffer[]) {
  const decode = ours()
  for (let looks = 1; looks < 3; looks++) await decoded(decode, ...batches)
  return decoded(decode, ...batches)
}

const plainOf = (messages: Awaited<ReturnType<typeof decoded>>) =>
  messages.map(({ batchContext, headers, ...message }) => {
    const { firstOffset, timestampType, producerId, inTransaction } = batchContext as Record<string, unknown>
    return { ...message, headers: { ...headers }, firstOffset, timestampType, producerId, inTransaction }
  })

test('batches are decoded like kafkajs does', async () => {
  const batch = fc.record({
    count: fc.nat(5),
    firstOffset: fc.nat(),
    value: fc.string(),
    transactional: fc.boolean(),
    // time of the broker, marker of a transaction
    attributes: fc.constantFrom(0, 8, 0x20),
    codec: fc.constantFrom<Of['codec'][]>(undefined, [1, (of) => gzipSync(of)]),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(batch, { maxLength: 3 }),
      fc.integer({ min: 17, max: 80 }),
      async (ofs, cutOff) => {
        const batches = ofs.map(aBatch)
        // the last one is usually cut off
        const last = aBatch().subarray(0, cutOff)
        const theirs = await decoded(originalBatchesDecoder, ...batches, last)
        expect(plainOf(await decoded(ours(), ...batches, last))).toEqual(plainOf(theirs))
      },
    ),
  )
})

test('zstd is decompressed', async () => {
  const messages = await decoded(ours(), aBatch({ codec: [4, (of) => zstdCompressSync(of)] }))
  expect(messages.map(({ value }) => String(value))).toEqual(['v0', 'v1', 'v2'])
})

test("it replaces kafkajs's decoder", () => {
  expect(require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages')).not.toBe(originalBatchesDecoder)
})

describe('a batch that cannot be decoded', () => {
  const asItIs = (records: Buffer) => records
  const zeros = Buffer.alloc(20 * 1024 * 1024)
  const atOnce: [string, Buffer, string][] = [
    ['an unknown codec', aBatch({ codec: [5, asItIs] }), 'unknown compression codec 5'],
    ['LZ4 that is none', aBatch({ codec: [3, asItIs] }), 'LZ4: not an LZ4 frame'],
    ['Snappy that is cut off', aBatch({ codec: [2, () => Buffer.from([9, 8, 1])] }), 'Snappy: it ends early'],
    [
      'gzip that is cut off',
      aBatch({ codec: [1, (of) => gzipSync(of).subarray(0, -9)] }),
      'gzip: unexpected end of file',
    ],
    [
      'gzip of 20 MB',
      aBatch({ codec: [1, () => gzipSync(zeros)] }),
      'gzip: Cannot create a Buffer larger than 16777216 bytes',
    ],
    [
      'zstd of 20 MB',
      aBatch({ codec: [4, () => zstdCompressSync(zeros)] }),
      'zstd: Cannot create a Buffer larger than 16777216 bytes',
    ],
    [
      'a record less than it says',
      aBatch({ codec: [1, (of) => gzipSync(of.subarray(0, -9))] }),
      'a record ends early',
    ],
    [
      'records that are none',
      aBatch({ codec: [1, () => gzipSync(Buffer.alloc(99, 2))] }),
      'a record does not have the length that it states',
    ],
  ]
  test.each(atOnce)(
    '(%s) becomes one message at its last offset, and the next batches follow',
    async (_, batch, reason) => {
      const bad = Buffer.from(batch)
      bad.writeBigInt64BE(40n, 0)
      const messages = await decoded(
        ours(),
        aBatch({ firstOffset: 38, count: 2 }),
        bad,
        aBatch({ firstOffset: 43 }),
      )
      expect(offsets(messages)).toEqual([38, 39, 42, 43, 44, 45])
      expect(faultIn(messages, 2)).toEqual({ reason, firstOffset: 40, lastOffset: 42 })
      expect(messages[2]).toMatchObject({ key: null, value: bad, timestamp: '1764000000000' })
      expect(String(messages[2]?.headers['parked-batch'])).toBe('40-42')
      expect(faultIn(messages, 1)).toBeUndefined()
    },
  )

  test('can also be one with more records than memory should hold', async () => {
    const batch = aBatch({ codec: [1, (of) => gzipSync(of)] })
    batch.writeInt32BE(2_000_000, 57)
    batch.writeInt32BE(1_999_999, 23)
    const messages = await decoded(ours(), sealed(batch))
    expect(faultIn(messages)?.reason).toBe('2000000 records, more than 250000')
    expect(offsets(messages)).toEqual([1_999_999])
  })

  test('covers all its offsets, even when records were compacted away', async () => {
    const batch = aBatch({ codec: [5, asItIs] })
    batch.writeInt32BE(9, 23)
    expect(faultIn(await decoded(ours(), sealed(batch)))).toMatchObject({ firstOffset: 0, lastOffset: 9 })
  })

  test('is left out with its aborted transaction', async () => {
    const [message] = await decoded(ours(), aBatch({ codec: [5, asItIs], transactional: true }))
    expect(message?.batchContext).toMatchObject({ producerId: '7', inTransaction: true })
  })
})

test.each([0, 1])(
  'a batch of an unknown format counts as damaged, %d batches after the first',
  async (index) => {
    const batches = [aBatch({ firstOffset: 0 }), aBatch({ firstOffset: 3 }), aBatch({ firstOffset: 6 })]
    batches[index]?.writeUInt8(7, 16)
    const messages = await damaged(...batches)
    expect(faultIn(messages, index * 3)).toEqual({
      reason: 'unknown format 7',
      firstOffset: index * 3,
      lastOffset: index * 3 + 2,
    })
    expect(offsets(messages).at(-1)).toBe(8)
  },
)

test('a batch whose records were all compacted away moves the reader past its offsets', async () => {
  const emptied = aBatch({ count: 0, firstOffset: 40 })
  emptied.writeInt32BE(2, 23)
  const partitionData = {
    partition: 0,
    highWatermark: '50',
    messages: await decoded(ours(), sealed(emptied)),
  }
  const batch = new Batch('settings', '41', partitionData)
  expect([batch.messages, batch.isEmptyDueToFiltering(), batch.lastOffset()]).toEqual([[], true, '42'])
})

describe('a batch with a wrong checksum', () => {
  const flipped = (batch: Buffer, at: number) => {
    const bad = Buffer.from(batch)
    bad[at] = (bad[at] ?? 0) ^ 1
    return bad
  }

  test('is fetched twice more, with everything behind it, before it counts as damaged', async () => {
    const decode = ours()
    const batches = [
      aBatch({ count: 1 }),
      flipped(aBatch({ firstOffset: 1 }), 70),
      aBatch({ firstOffset: 4 }),
    ]
    for (const looks of [1, 2])
      expect([looks, offsets(await decoded(decode, ...batches))]).toEqual([looks, [0]])
    const messages = await decoded(decode, ...batches)
    expect(offsets(messages)).toEqual([0, 3, 4, 5, 6])
    expect(faultIn(messages, 1)).toEqual({ reason: 'wrong checksum', firstOffset: 1, lastOffset: 3 })
  })

  test('is read when the checksum is right the next time', async () => {
    const decode = ours()
    expect(await decoded(decode, flipped(aBatch(), 70))).toEqual([])
    expect(offsets(await decoded(decode, aBatch()))).toEqual([0, 1, 2])
  })

  test('does not skip what follows when its last offset is wrong', async () => {
    // 2^24 too many
    expect(offsets(await damaged(flipped(aBatch(), 23)))).toEqual([0])
    // one of 3 was compacted away: their number does not confirm the last offset
    const compacted = aBatch()
    compacted.writeInt32BE(2, 57)
    expect(offsets(await damaged(compacted))).toEqual([0])
    expect(offsets(await damaged(flipped(aBatch(), 62)))).toEqual([2])
  })
})

test('one fetch decodes a bounded amount of a partition: the next brings the rest', async () => {
  // 10 MB each
  const long = (firstOffset: number) =>
    aBatch({ count: 1, firstOffset, value: 'x'.repeat(10_000_000), codec: [4, (of) => zstdCompressSync(of)] })
  const batches = [0, 1, 2, 3].map(long)
  expect(offsets(await decoded(ours(), ...batches))).toEqual([0, 1])
  const many = (firstOffset: number) =>
    aBatch({ count: 150_000, firstOffset, value: '', codec: [1, (of) => gzipSync(of)] })
  expect(await decoded(ours(), many(0), many(150_000), many(300_000))).toHaveLength(300_000)
})

test('readers get the records, and a report of each skipped batch', async () => {
  const messages = (await decoded(
    ours(),
    aBatch({ codec: [5, (of) => of] }),
    aBatch({ firstOffset: 3 }),
  )) as Message[]
  const told: unknown[] = []
  const log = pino({ level: 'silent' })
  const batch = { topic: 'p.work', partition: 1, messages }
  const left = skipUndecodable(
    batch,
    { log, plain: (name) => name.slice(2) },
    (fault) => void told.push(fault),
  )
  expect(offsets(left)).toEqual([3, 4, 5])
  expect(told).toEqual([{ reason: expect.stringContaining('codec 5'), firstOffset: 0, lastOffset: 2 }])
})
