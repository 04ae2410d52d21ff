import { crc32c } from '@node-rs/crc32'
import type { KafkaMessage } from 'kafkajs'
import { messageOf } from '../../process/thrown.ts'
import { decompress, MAX_BYTES } from './decompress.ts'

export type FetchBytes = { buffer: Buffer; offset: number }

type Decoded = ReturnType<typeof decodeRecord>
type DecodeBatches = (bytes: FetchBytes) => Promise<Decoded[]>

/** Offsets of the fields of a batch of format 2 (Kafka protocol guide, "Record Batch"). */
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
/** Base offset and length: the length does not include them. */
const BEFORE_LENGTH_BYTES = 12
const MAGIC = 2
const CODEC = 0x07
const LOG_APPEND_TIME = 0x08
const TRANSACTIONAL = 0x10
const CONTROL = 0x20

export type BatchFault = { reason: string; firstOffset: number; lastOffset: number }

const faults = new WeakMap<object, BatchFault>()

/** @returns the fault of the batch that this message stands for, if any. */
export const batchFaultOf = (message: KafkaMessage): BatchFault | undefined =>
  message.key === null ? faults.get(message) : undefined

/** More than 1 MB of the smallest records. Each becomes an object of about 300 bytes. */
const MAX_RECORDS = 250_000

/** Tries for a batch with a wrong checksum or format: the network may have damaged it. */
const MAX_FETCHES = 3
const MAX_SUSPECTS = 100

/**
 * Decodes one partition's batches. One that cannot be decoded becomes a message at its last offset, with the batch as
 * its value (see `batchFaultOf` and docs/decisions/022-batches.md).
 * @param decodeOlder for formats 0 and 1, which brokers before 4.0 may still have.
 */
export function batchesDecoder(decodeOlder: DecodeBatches): DecodeBatches {
  /** Number of fetches, by the batch's header. */
  const suspects = new Map<string, number>()

  function shouldFetchAgain(header: string): boolean {
    const count = (suspects.get(header) ?? 0) + 1
    suspects.delete(header)
    if (count >= MAX_FETCHES) return false
    if (suspects.size >= MAX_SUSPECTS) suspects.clear()
    suspects.set(header, count)
    return true
  }

  async function decodeAll(bytes: Buffer): Promise<Decoded[]> {
    const found: Decoded[] = []
    let unpacked = 0
    for (let start = 0; start + AT.records <= bytes.length; ) {
      // the next fetch brings the rest
      if (unpacked >= MAX_BYTES || found.length >= MAX_RECORDS) break
      const end = start + BEFORE_LENGTH_BYTES + bytes.readInt32BE(start + AT.length)
      // the last batch may be cut off; a batch of an older format starts the next fetch
      if (end > bytes.length || end < start + AT.records || isOlder(bytes, start)) break
      const batch = bytes.subarray(start, end)
      const damage = damageOf(batch)
      if (!damage) unpacked += await decodeOne(batch, found)
      else if (shouldFetchAgain(batch.toString('latin1', 0, AT.records))) break
      else found.push(standIn(batch, damage))
      start = end
    }
    return found
  }

  return async (bytes) => {
    const size = bytes.buffer.readInt32BE(bytes.offset)
    const start = bytes.offset + 4
    const end = start + size
    if (size <= AT.magic || end > bytes.buffer.length || isOlder(bytes.buffer, start))
      return decodeOlder(bytes)
    bytes.offset = end
    return decodeAll(bytes.buffer.subarray(start, end))
  }
}

const magicOf = (bytes: Buffer, start = 0) => bytes.readUInt8(start + AT.magic)

const isOlder = (bytes: Buffer, start: number) => magicOf(bytes, start) < MAGIC

/** The checksum does not cover the format number. */
function damageOf(batch: Buffer): string | undefined {
  if (magicOf(batch) !== MAGIC) return `unknown format ${magicOf(batch)}`
  return isWhole(batch) ? undefined : 'wrong checksum'
}

const isWhole = (batch: Buffer) => crc32c(batch.subarray(AT.attributes)) === batch.readUInt32BE(AT.crc)

/** @returns the decompressed size in bytes. */
async function decodeOne(batch: Buffer, into: Decoded[]): Promise<number> {
  const codec = batch.readInt16BE(AT.attributes) & CODEC
  const before = into.length
  try {
    const packed = batch.subarray(AT.records)
    const records = codec === 0 ? packed : await decompress(packed, codec)
    decodeRecords(records, { batch, into })
    const behind = batch.readInt32BE(AT.lastOffsetDelta)
    if (into.length === before && behind >= 0) into.push(emptied(batch, behind))
    return records.length
  } catch (error) {
    into.length = before
    into.push(standIn(batch, messageOf(error)))
    return 0
  }
}

function decodeRecords(records: Buffer, { batch, into }: { batch: Buffer; into: Decoded[] }): void {
  const context = contextOf(batch)
  const place = { buffer: records, offset: 0 }
  const count = batch.readInt32BE(AT.count)
  if (count > MAX_RECORDS) throw new RangeError(`${count} records, more than ${MAX_RECORDS}`)
  for (let left = count; left > 0; left--) {
    const length = readVarint(place)
    const end = place.offset + length
    if (length < 0 || end > records.length) throw new RangeError('a record ends early')
    into.push(decodeRecord(place, context))
    if (place.offset !== end) throw new RangeError('a record does not have the length that it states')
  }
}

/**
 * Compaction may remove all records of a producer's last batch, but keeps the batch. If a segment ends with it, a fetch
 * brings nothing else. As a control record it is never passed on, but the reader moves past it.
 */
const emptied = (batch: Buffer, behind: number): Decoded => ({
  ...messageAt(Number(batch.readBigInt64BE(0)) + behind, batch),
  isControlRecord: true,
})

type Context = BatchContext & { producerId: string; inTransaction: boolean }

/** With `producerId` and `inTransaction`, kafkajs leaves out aborted transactions. */
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
  const headers = { 'parked-batch': Buffer.from(`${firstOffset}-${lastOffset}`) }
  const message = { ...messageAt(lastOffset, batch), value: batch, headers }
  faults.set(message, { reason, firstOffset, lastOffset })
  return message
}

function messageAt(offset: number, batch: Buffer): Decoded {
  const batchContext = contextOf(batch)
  const { maxTimestamp: timestamp } = batchContext
  return {
    magicByte: MAGIC,
    attributes: 0,
    timestamp,
    offset: String(offset),
    key: null,
    value: null,
    headers: NO_HEADERS,
    isControlRecord: false,
    batchContext,
  }
}

/**
 * @returns how many offsets follow the first. The batch says so; it is believed if the checksum is right or the number
 * of records agrees. Otherwise 0: the reader advances one by one.
 */
function offsetsBehind(batch: Buffer): number {
  const behind = batch.readInt32BE(AT.lastOffsetDelta)
  return isWhole(batch) || batch.readInt32BE(AT.count) === behind + 1 ? Math.max(0, behind) : 0
}

export type RecordBytes = { buffer: Buffer; offset: number }

/** 64-bit numbers are text. */
export type BatchContext = {
  firstOffset: string
  firstTimestamp: string
  maxTimestamp: string
  magicByte: number
  isControlBatch?: boolean
  /** 0: the producer set the times, 1: the broker. */
  timestampType: number
}

/**
 * Decodes a record of format 2 (Kafka protocol guide, "Record"). Plain numbers suffice: offsets and times are far below
 * 2^53.
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

const later = (time: string, delta: number) => (delta === 0 ? time : String(Number(time) + delta))

/** Zigzag, seven bits per byte, lowest first; exact up to 2^53. */
function readVarint(bytes: RecordBytes): number {
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

/** No prototype: a name may be anything. */
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
