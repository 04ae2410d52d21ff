import { crc32c } from '@node-rs/crc32'
import type { Message } from '../consume/record.ts'
import { decompress, MOST_BYTES } from './decompress.ts'

/** The client's own reader over a fetch's bytes, as far as it matters here (kafkajs 2.2.4, src/protocol/decoder.js). */
export type FetchBytes = { buffer: Buffer; offset: number }

type Decoded = ReturnType<typeof decodeRecord>
type DecodeBatches = (bytes: FetchBytes) => Promise<Decoded[]>

/** Where a batch of format 2 has its fields (Kafka protocol guide, "Record Batch"). */
const AT = {
  length: 8,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  count: 57,
  records: 61,
}
/** Of offset and length, which the length does not count. */
const BEFORE_LENGTH_BYTES = 12
const MAGIC = 2
const CODEC = 0x07
const LOG_APPEND_TIME = 0x08
const TRANSACTIONAL = 0x10
const CONTROL = 0x20

/** Why a batch cannot be decoded, and which records were in it. */
export type BatchFault = { reason: string; firstOffset: number; lastOffset: number }

const faults = new WeakMap<object, BatchFault>()

/** @returns what is wrong, where this message stands for a batch that cannot be decoded; undefined for a record. */
export const faultOf = (message: Message): BatchFault | undefined =>
  message.key === null ? faults.get(message) : undefined

/** What 1 MB holds of the smallest records, and more. Each of them is an object of some 300 bytes. */
const MOST_RECORDS = 250_000

/** How often a batch with a wrong checksum or format is fetched before it counts as damaged: the first time it may be the way here. */
const LOOKS = 3
/** More than so many are not counted at once. */
const MOST_LOOKED_AT = 100

/**
 * Decodes the batches of one partition in a fetch. A batch that cannot be decoded becomes one message, at its last offset, whose value is
 * the whole batch and about which `faultOf` tells: an error would end the fetch, and the next one begins at the same batch.
 * @param theirs decodes formats 0 and 1, which brokers before 4.0 may still have.
 */
export function batchesDecoder(theirs: DecodeBatches): DecodeBatches {
  const looks = new Map<string, number>()

  /** The rest of the partition is fetched again, from this batch on. */
  function isToComeAgain(header: string): boolean {
    const count = (looks.get(header) ?? 0) + 1
    looks.delete(header)
    if (count >= LOOKS) return false
    if (looks.size >= MOST_LOOKED_AT) looks.clear()
    looks.set(header, count)
    return true
  }

  async function decodeAll(bytes: Buffer): Promise<Decoded[]> {
    const found: Decoded[] = []
    let unpacked = 0
    for (let start = 0; start + AT.records <= bytes.length; ) {
      // the rest comes with the next fetch
      if (unpacked >= MOST_BYTES || found.length >= MOST_RECORDS) break
      const end = start + BEFORE_LENGTH_BYTES + bytes.readInt32BE(start + AT.length)
      // the last one may be cut off; what has an older format begins the next fetch
      if (end > bytes.length || end < start + AT.records || isOlder(bytes, start)) break
      const batch = bytes.subarray(start, end)
      const damage = damageOf(batch)
      if (!damage) unpacked += await decodeOne(batch, found)
      else if (isToComeAgain(batch.toString('latin1', 0, AT.records))) break
      else found.push(standIn(batch, damage))
      start = end
    }
    return found
  }

  return async (bytes) => {
    const size = bytes.buffer.readInt32BE(bytes.offset)
    const start = bytes.offset + 4
    const end = start + size
    if (size <= AT.magic || end > bytes.buffer.length || isOlder(bytes.buffer, start)) return theirs(bytes)
    bytes.offset = end
    return decodeAll(bytes.buffer.subarray(start, end))
  }
}

const magicOf = (bytes: Buffer, start = 0) => bytes.readUInt8(start + AT.magic)

const isOlder = (bytes: Buffer, start: number) => magicOf(bytes, start) < MAGIC

/** The checksum does not cover the number of the format. */
function damageOf(batch: Buffer): string | undefined {
  if (magicOf(batch) !== MAGIC) return `its format is ${magicOf(batch)}, which is not known`
  return isWhole(batch) ? undefined : 'its checksum is wrong'
}

const isWhole = (batch: Buffer) => crc32c(batch.subarray(AT.attributes)) === batch.readUInt32BE(AT.crc)

/** @returns how many bytes the batch has, decompressed. */
async function decodeOne(batch: Buffer, into: Decoded[]): Promise<number> {
  const codec = batch.readInt16BE(AT.attributes) & CODEC
  const before = into.length
  try {
    const packed = batch.subarray(AT.records)
    const records = codec === 0 ? packed : await decompress(packed, codec)
    decodeRecords(records, { batch, into })
    return records.length
  } catch (error) {
    into.length = before
    into.push(standIn(batch, error instanceof Error ? error.message : String(error)))
    return 0
  }
}

function decodeRecords(records: Buffer, { batch, into }: { batch: Buffer; into: Decoded[] }): void {
  const context = contextOf(batch)
  const place = { buffer: records, offset: 0 }
  const count = batch.readInt32BE(AT.count)
  if (count > MOST_RECORDS) throw new RangeError(`it has ${count} records, more than ${MOST_RECORDS}`)
  for (let left = count; left > 0; left--) {
    const length = readVarint(place)
    const end = place.offset + length
    if (length < 0 || end > records.length) throw new RangeError('a record ends early')
    into.push(decodeRecord(place, context))
    if (place.offset !== end) throw new RangeError('a record is not as long as it says')
  }
}

type Context = BatchContext & { producerId: string; inTransaction: boolean }

/** The client leaves out what an aborted transaction wrote by the last two. */
function contextOf(batch: Buffer): Context {
  const attributes = batch.readInt16BE(AT.attributes)
  return {
    firstOffset: String(batch.readBigInt64BE(0)),
    firstTimestamp: String(batch.readBigInt64BE(AT.firstTimestamp)),
    maxTimestamp: String(batch.readBigInt64BE(AT.maxTimestamp)),
    magicByte: MAGIC,
    isControlBatch: (attributes & CONTROL) !== 0,
    timestampType: attributes & LOG_APPEND_TIME ? 1 : 0,
    producerId: String(batch.readBigInt64BE(AT.producerId)),
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
  }
}

function standIn(batch: Buffer, reason: string): Decoded {
  const firstOffset = Number(batch.readBigInt64BE(0))
  const lastOffset = firstOffset + offsetsBehind(batch)
  const context = contextOf(batch)
  const message: Decoded = {
    magicByte: MAGIC,
    attributes: 0,
    timestamp: context.maxTimestamp,
    offset: String(lastOffset),
    key: null,
    value: batch,
    headers: { 'parked-batch': Buffer.from(`${firstOffset}-${lastOffset}`) },
    isControlRecord: false,
    batchContext: context,
  }
  faults.set(message, { reason, firstOffset, lastOffset })
  return message
}

/**
 * How many offsets the batch takes behind its first. Damage may have hit that as well: it counts where the checksum is right, or the
 * number of records says the same. Otherwise the reader goes on by one offset, as often as it takes.
 */
function offsetsBehind(batch: Buffer): number {
  const behind = batch.readInt32BE(AT.lastOffsetDelta)
  return isWhole(batch) || batch.readInt32BE(AT.count) === behind + 1 ? Math.max(0, behind) : 0
}

/** The client's own reader over one record's bytes. */
export type RecordBytes = { buffer: Buffer; offset: number }

/** Of the batch that a record is in: numbers of 64 bits as text. */
export type BatchContext = {
  firstOffset: string
  firstTimestamp: string
  maxTimestamp: string
  magicByte: number
  isControlBatch?: boolean
  /** 0: when it was made, 1: when the broker wrote it. */
  timestampType: number
}

/**
 * One record of a batch, format 2 (Kafka protocol guide, "Record"), as kafkajs hands it on. Its own decoder counts in 64-bit
 * objects, several a record; offsets and times are far below 2^53.
 */
export function decodeRecord(bytes: RecordBytes, batchContext: BatchContext) {
  const { firstOffset, firstTimestamp, maxTimestamp, timestampType, magicByte } = batchContext
  const attributes = bytes.buffer.readInt8(bytes.offset++)
  const timestampDelta = readVarint(bytes)
  const offsetDelta = readVarint(bytes)
  const key = readBytes(bytes)
  const value = readBytes(bytes)
  return {
    magicByte,
    attributes,
    timestamp: timestampType === 1 && maxTimestamp ? maxTimestamp : later(firstTimestamp, timestampDelta),
    offset: String(Number(firstOffset) + offsetDelta),
    key,
    value,
    headers: readHeaders(bytes),
    isControlRecord: batchContext.isControlBatch ?? false,
    batchContext,
  }
}

/** Producers give all records of a batch one time, mostly. */
const later = (time: string, delta: number) => (delta === 0 ? time : String(Number(time) + delta))

/** Zigzag, seven bits a byte, the lowest first; exact up to 2^53. */
export function readVarint(bytes: RecordBytes): number {
  let value = 0
  let place = 1
  for (;;) {
    const byte = bytes.buffer[bytes.offset++]
    if (byte === undefined) throw new RangeError('the record ends in the middle of a number')
    value += (byte & 0x7f) * place
    if (byte < 0x80) break
    place *= 0x80
  }
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}

function readBytes(bytes: RecordBytes): Buffer | null {
  const length = readVarint(bytes)
  if (length < 0) return null
  const start = bytes.offset
  bytes.offset += length
  return bytes.buffer.subarray(start, bytes.offset)
}

type Value = Buffer | null

const NO_HEADERS: Record<string, Value | Value[]> = Object.freeze(Object.create(null))

/** One name may come several times. Without a prototype, as names may be anything. */
function readHeaders(bytes: RecordBytes): Record<string, Value | Value[]> {
  let left = readVarint(bytes)
  if (left <= 0) return NO_HEADERS
  const headers: Record<string, Value | Value[]> = Object.create(null)
  for (; left > 0; left--) {
    const name = String(readBytes(bytes))
    const value = readBytes(bytes)
    const before = headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  return headers
}
