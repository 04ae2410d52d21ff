import type { TopicPartition } from '../../topic-partition.ts'
/**
 * Upstream: tulios/kafkajs#818 (open: KIP-320); src/protocol/requests lacks Metadata version 12 and
 * OffsetForLeaderEpoch.
 * Without it: the watch cannot tell whether a log is still the one that was read.
 * Until: kafkajs sends both requests; test/kafka/log-watch.test.ts, "the requests".
 */
import { internal } from '../internals.ts'

const { createErrorFromCode } = internal<{ createErrorFromCode(code: number): Error }>('protocol/error')

export type Broker = {
  versions: Record<number, { maxVersion: number } | undefined> | null
  connectionPool: { send(exchange: Exchange<unknown>): Promise<unknown> }
}

type Exchange<T> = {
  request: {
    apiKey: number
    apiVersion: number
    apiName: string
    encode(): Promise<{ buf: Buffer; buffer: Buffer }>
  }
  response: { decode(answer: Buffer): Promise<object>; parse(decoded: object): Promise<T> }
}

/** `id`: a UUID in base64url. It changes when the topic is recreated. */
export type TopicState = { topic: string; id: string; partitions: PartitionState[] }
/** `leader`: -1 if there is none. `epoch` grows with each election or start. */
export type PartitionState = { partition: number; leader: number; epoch: number }

/** Asks where `epoch` ended. `current`: the leader's epoch. */
export type EpochQuestion = TopicPartition & { current: number; epoch: number }
/** `end`: -1: the leader does not know the epoch. */
export type EpochEnd = TopicPartition & { end: number }

const METADATA = 3
/** With topic ids and leader epochs; brokers have it since Kafka 3.0. */
const METADATA_VERSION = 12
const EPOCH_END = 23
const EPOCH_END_VERSION = 3
const NONE = 0
const UNKNOWN_TOPIC = 3

export const supportsEpochs = ({ versions }: Broker): boolean =>
  (versions?.[METADATA]?.maxVersion ?? 0) >= METADATA_VERSION &&
  (versions?.[EPOCH_END]?.maxVersion ?? 0) >= EPOCH_END_VERSION

/**
 * @param topics as named on the broker.
 * @returns those that exist.
 */
export const describeTopics = (broker: Broker, topics: readonly string[]): Promise<TopicState[]> =>
  send(broker, {
    apiKey: METADATA,
    apiVersion: METADATA_VERSION,
    apiName: 'Metadata',
    encode: () => encodeMetadata(topics),
    decode: decodeMetadata,
  })

/** @param broker must lead all these partitions. */
export const endsOfEpochs = (broker: Broker, questions: readonly EpochQuestion[]): Promise<EpochEnd[]> =>
  send(broker, {
    apiKey: EPOCH_END,
    apiVersion: EPOCH_END_VERSION,
    apiName: 'OffsetForLeaderEpoch',
    encode: () => encodeEpochQuestions(questions),
    decode: decodeEpochEnds,
  })

type Plain<T> = {
  apiKey: number
  apiVersion: number
  apiName: string
  encode: () => Buffer
  decode: (answer: Buffer) => T
}

async function send<T>(broker: Broker, { encode, decode, ...request }: Plain<T>): Promise<T> {
  const encoded = async () => {
    const buffer = encode()
    return { buf: buffer, buffer }
  }
  const answer = await broker.connectionPool.send({
    request: { ...request, encode: encoded },
    response: { decode: async (bytes) => ({ bytes }), parse: async (decoded) => decoded },
  })
  return decode((answer as { bytes: Buffer }).bytes)
}

/** Metadata, version 12 (Kafka protocol guide). The first byte ends the header: kafkajs writes no tagged fields. */
export function encodeMetadata(topics: readonly string[]): Buffer {
  const parts: Buffer[] = [Buffer.from([0]), uvarint(topics.length + 1)]
  for (const topic of topics) {
    const name = Buffer.from(topic)
    // no topic id: the name identifies it
    parts.push(Buffer.alloc(16), uvarint(name.length + 1), name, Buffer.from([0]))
  }
  // do not create topics, no authorized operations, no tagged fields
  parts.push(Buffer.from([0, 0, 0]))
  return Buffer.concat(parts)
}

export function decodeMetadata(answer: Buffer): TopicState[] {
  const read = reader(answer)
  read.tags()
  read.int32() // throttle time
  read.compactArray(() => {
    read.int32()
    read.compactText()
    read.int32()
    read.compactText()
    read.tags()
  })
  read.compactText() // cluster id
  read.int32() // controller
  const topics = read.compactArray(() => {
    const error = read.int16()
    const topic = read.compactText()
    const id = read.bytes(16).toString('base64url')
    read.bytes(1) // internal
    const partitions = read.compactArray(partitionState(read))
    read.int32() // operations
    read.tags()
    return { error, topic, id, partitions }
  })
  return topics.flatMap(({ error, ...topic }) => {
    if (error === UNKNOWN_TOPIC) return []
    if (error !== NONE) throw createErrorFromCode(error)
    return topic
  })
}

const partitionState = (read: Reader) => (): PartitionState => {
  read.int16() // error code: leader -1 says the same
  const state = { partition: read.int32(), leader: read.int32(), epoch: read.int32() }
  for (let list = 0; list < 3; list++) read.compactArray(read.int32) // replicas: all, in sync, offline
  read.tags()
  return state
}

/** OffsetForLeaderEpoch, version 3 (Kafka protocol guide). */
export function encodeEpochQuestions(questions: readonly EpochQuestion[]): Buffer {
  const parts: Buffer[] = [int32(-1), int32(questions.length)]
  // one topic entry per partition: they are few
  for (const { topic, partition, current, epoch } of questions) {
    const name = Buffer.from(topic)
    const length = Buffer.alloc(2)
    length.writeInt16BE(name.length)
    parts.push(length, name, int32(1), int32(partition), int32(current), int32(epoch))
  }
  return Buffer.concat(parts)
}

export function decodeEpochEnds(answer: Buffer): EpochEnd[] {
  const read = reader(answer)
  read.int32() // throttle time
  const topics = read.array(() => {
    const topic = read.text()
    return read.array(() => {
      const error = read.int16()
      const partition = read.int32()
      read.int32() // the epoch that ends there
      const end = read.int64()
      if (error !== NONE) throw createErrorFromCode(error)
      return { topic, partition, end }
    })
  })
  return topics.flat()
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function uvarint(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80)
  return Buffer.from([...bytes, left])
}

type Reader = ReturnType<typeof reader>

/** @throws RangeError at the end of the response. */
function reader(buffer: Buffer) {
  let at = 0
  const take = (length: number) => {
    if (length < 0 || at + length > buffer.length) throw new RangeError('the response ends too early')
    at += length
    return at - length
  }
  const bytes = (length: number) => buffer.subarray(take(length), at)
  const int16 = () => buffer.readInt16BE(take(2))
  const int32 = () => buffer.readInt32BE(take(4))
  function varint(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = buffer.readUInt8(take(1))
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
  }
  /** A null string or array has length -1 and reads as empty. */
  const times = <T>(count: number, read: () => T) => Array.from({ length: Math.max(0, count) }, read)
  return {
    bytes,
    int16,
    int32,
    int64: () => Number(buffer.readBigInt64BE(take(8))),
    text: () => bytes(Math.max(0, int16())).toString(),
    compactText: () => bytes(Math.max(0, varint() - 1)).toString(),
    array: <T>(read: () => T) => times(int32(), read),
    compactArray: <T>(read: () => T) => times(varint() - 1, read),
    tags: () =>
      void times(varint(), () => {
        varint()
        bytes(varint())
      }),
  }
}
