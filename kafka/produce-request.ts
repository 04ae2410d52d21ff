import { createRequire } from 'node:module'
import type { Message } from 'kafkajs'
import { measure, type SizedBatch, writeBatch } from './record-batch.ts'

/** A request to produce as kafkajs hands it to its encoder. */
export type ProduceRequest = {
  transactionalId?: string | null | undefined
  acks: number
  /** Milliseconds that the broker may wait for its replicas. */
  timeout: number
  /** 0: none. */
  compression: number
  /** A 64-bit number of kafkajs's own making, which prints as such. */
  producerId: { toString(): string }
  producerEpoch: number
  topicData: readonly {
    topic: string
    partitions: readonly { partition: number; firstSequence: number; messages: readonly Message[] }[]
  }[]
}

/**
 * The body of a produce request, versions 3 to 7 (Kafka protocol guide), in one buffer of its exact size. kafkajs's own
 * encoder makes the same bytes at twenty times the cost: an encoder for each record and header, and eight copies.
 * @param now milliseconds since 1970.
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

/** What kafkajs sends: it writes `encode()`'s buffer behind the request's head. */
type Request = { apiVersion: number; encode(): Promise<{ buf: Buffer; buffer: Buffer }> }
type Protocol = (choice: {
  version: string
}) => (request: ProduceRequest) => { request: Request; response: unknown }

// kafkajs has no setting for this; its version is pinned, and a test compares the bytes of both encoders
const definition: { protocol: Protocol } = createRequire(import.meta.url)(
  'kafkajs/src/protocol/requests/produce',
)
const { protocol } = definition

/** Makes kafkajs encode what we produce with `encodeProduce`, for all of its clients in this process. */
export function encodeOurselves(): void {
  definition.protocol = (choice) => (produce) => {
    const made = protocol(choice)(produce)
    if (!isPlain(made.request, produce)) return made
    async function encode() {
      const buffer = encodeProduce(produce, Date.now())
      return { buf: buffer, buffer }
    }
    return { ...made, request: { ...made.request, encode } }
  }
}

/** What no part of ours sends is left to kafkajs: compressed records, times of their own, versions before record batches. */
function isPlain({ apiVersion }: Request, { compression, topicData }: ProduceRequest): boolean {
  if (apiVersion < 3 || compression) return false
  return topicData.every(({ partitions }) =>
    partitions.every(({ messages }) => messages.every(({ timestamp }) => timestamp === undefined)),
  )
}
