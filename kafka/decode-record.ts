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
