import { crc32c } from '@node-rs/crc32'
import type { Message } from 'kafkajs'

export type ProduceRequest = {
  transactionalId?: string | null | undefined
  acks: number
  /** In ms. */
  timeout: number
  /** 0: none. */
  compression: number
  producerId: { toString(): string }
  producerEpoch: number
  topicData: readonly {
    topic: string
    partitions: readonly { partition: number; firstSequence: number; messages: readonly Message[] }[]
  }[]
}

/**
 * Encodes the body of a produce request, versions 3 to 7 (Kafka protocol guide), into one buffer
 * (docs/decisions/005-produce-encoder.md).
 * @param now ms since 1970.
 */
export function encodeProduce(request: ProduceRequest, now: number): Buffer {
  const common = { ...idempotence(request), timestamp: now }
  const topics = request.topicData.map(({ topic, partitions }) => ({
    topic,
    batches: partitions.map(({ partition, ...rest }) => ({
      partition,
      batch: measure({ ...rest, ...common }),
    })),
  }))
  const into = Buffer.allocUnsafe(sizeOf(request.transactionalId, topics))
  let at = writeString(into, 0, request.transactionalId)
  at = into.writeInt16BE(request.acks, at)
  at = into.writeInt32BE(request.timeout, at)
  at = into.writeInt32BE(topics.length, at)
  for (const topic of topics) at = writeTopic(into, at, topic)
  return into
}

type Topic = { topic: string; batches: readonly { partition: number; batch: SizedBatch }[] }

const idempotence = ({ producerId, producerEpoch, transactionalId }: ProduceRequest) => ({
  producerId: BigInt(producerId.toString()),
  producerEpoch,
  transactional: Boolean(transactionalId),
})

function sizeOf(transactionalId: string | null | undefined, topics: readonly Topic[]): number {
  let size = stringBytes(transactionalId) + 10
  for (const { topic, batches } of topics) {
    size += stringBytes(topic) + 4
    for (const { batch } of batches) size += 8 + batch.bytes
  }
  return size
}

function writeTopic(into: Buffer, start: number, { topic, batches }: Topic): number {
  let at = writeString(into, start, topic)
  at = into.writeInt32BE(batches.length, at)
  for (const { partition, batch } of batches) {
    at = into.writeInt32BE(partition, at)
    at = into.writeInt32BE(batch.bytes, at)
    at = writeBatch(into, at, batch)
  }
  return at
}

const stringBytes = (text: string | null | undefined) => 2 + (text ? Buffer.byteLength(text) : 0)

function writeString(into: Buffer, start: number, text: string | null | undefined): number {
  if (text === null || text === undefined) return into.writeInt16BE(-1, start)
  const at = into.writeInt16BE(Buffer.byteLength(text), start)
  return at + into.write(text, at)
}

export type RecordBatch = {
  /** None has its own timestamp. */
  messages: readonly Message[]
  /** Of all records, ms since 1970. */
  timestamp: number
  producerId: bigint
  producerEpoch: number
  firstSequence: number
  transactional: boolean
}

export type SizedBatch = RecordBatch & {
  /** Of each record, without its length field. */
  sizes: readonly number[]
  bytes: number
}

/** The CRC covers everything after base offset, length, leader epoch, magic and CRC. */
const BEFORE_CRC_COVER = 21
const HEADER_BYTES = 61
const MAGIC = 2
const TRANSACTIONAL = 16

export function measure(batch: RecordBatch): SizedBatch {
  const sizes = batch.messages.map(sizeOfRecord)
  let bytes = HEADER_BYTES
  for (const size of sizes) bytes += varintBytes(size) + size
  return { ...batch, sizes, bytes }
}

/** Attributes and time delta take a byte each. The offset's delta is the place. */
function sizeOfRecord({ key, value, headers }: Message, place: number): number {
  const fields = fieldsOf(headers)
  let size = 2 + varintBytes(place) + sizeOfField(key) + sizeOfField(value) + varintBytes(fields.length / 2)
  for (const field of fields) size += sizeOfField(field)
  return size
}

type Field = Buffer | string | null | undefined

/** Name, value, name, value. A header may have several values. */
function fieldsOf(headers: Message['headers']): Field[] {
  const fields: Field[] = []
  for (const name in headers) {
    const value = headers[name]
    if (!Array.isArray(value)) fields.push(name, value)
    else for (const one of value) fields.push(name, one)
  }
  return fields
}

function sizeOfField(field: Field): number {
  if (field === null || field === undefined) return 1
  const length = typeof field === 'string' ? Buffer.byteLength(field) : field.length
  return varintBytes(length) + length
}

/** Record batch of format 2, uncompressed (Kafka protocol guide, "Record Batch"). @returns where it ends. */
export function writeBatch(into: Buffer, start: number, batch: SizedBatch): number {
  const end = writeRecords(into, start + HEADER_BYTES, batch)
  const count = batch.messages.length
  into.writeBigInt64BE(0n, start)
  into.writeInt32BE(batch.bytes - 12, start + 8)
  into.writeInt32BE(0, start + 12)
  into.writeInt8(MAGIC, start + 16)
  into.writeInt16BE(batch.transactional ? TRANSACTIONAL : 0, start + 21)
  into.writeInt32BE(count - 1, start + 23)
  into.writeBigInt64BE(BigInt(batch.timestamp), start + 27)
  into.writeBigInt64BE(BigInt(batch.timestamp), start + 35)
  into.writeBigInt64BE(batch.producerId, start + 43)
  into.writeInt16BE(batch.producerEpoch, start + 51)
  into.writeInt32BE(batch.firstSequence, start + 53)
  into.writeInt32BE(count, start + 57)
  into.writeUInt32BE(crc32c(into.subarray(start + BEFORE_CRC_COVER, end)), start + 17)
  return end
}

function writeRecords(into: Buffer, start: number, { messages, sizes }: SizedBatch): number {
  let at = start
  let place = 0
  for (const message of messages) {
    at = writeVarint(into, at, sizes[place] ?? 0)
    into[at++] = 0 // attributes
    into[at++] = 0 // time delta
    at = writeVarint(into, at, place++)
    at = writeField(into, at, message.key)
    at = writeField(into, at, message.value)
    at = writeHeaders(into, at, message.headers)
  }
  return at
}

function writeHeaders(into: Buffer, start: number, headers: Message['headers']): number {
  const fields = fieldsOf(headers)
  let at = writeVarint(into, start, fields.length / 2)
  for (const field of fields) at = writeField(into, at, field)
  return at
}

/** Length (-1 for null), then bytes. */
function writeField(into: Buffer, start: number, field: Field): number {
  if (field === null || field === undefined) return writeVarint(into, start, -1)
  if (typeof field === 'string') {
    const at = writeVarint(into, start, Buffer.byteLength(field))
    return at + into.write(field, at)
  }
  const at = writeVarint(into, start, field.length)
  into.set(field, at)
  return at + field.length
}

/** Zigzag, seven bits per byte, lowest first; integers of 31 bits. */
function writeVarint(into: Buffer, start: number, value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  let at = start
  while (rest > 127) {
    into[at++] = (rest & 127) | 128
    rest >>>= 7
  }
  into[at++] = rest
  return at
}

function varintBytes(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0
  return zigzag < 0x80 ? 1 : zigzag < 0x4000 ? 2 : zigzag < 0x200000 ? 3 : zigzag < 0x10000000 ? 4 : 5
}
