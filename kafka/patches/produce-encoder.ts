/**
 * Upstream: tulios/kafkajs#383 (closed); src/protocol/requests/produce and src/protocol/encoder.js.
 * Without it: encoding costs 9.3 us per record instead of 0.5, a quarter of ingest's CPU time
 * (docs/decisions/005-produce-encoder.md).
 * Until: the client encodes a request into one buffer; test/kafka/produce-encoder.test.ts compares both.
 */
import { encodeProduce, type ProduceRequest } from '../protocol/encode-produce.ts'
import { internal } from './internals.ts'

/** kafkajs appends the buffer of `encode()` to the request's header. */
type Request = { apiVersion: number; encode(): Promise<{ buf: Buffer; buffer: Buffer }> }
type Protocol = (choice: {
  version: string
}) => (request: ProduceRequest) => { request: Request; response: unknown }

export function replaceProduceEncoder(): void {
  const definition = internal<{ protocol: Protocol }>('protocol/requests/produce')
  const { protocol } = definition
  definition.protocol = (choice) => (produce) => {
    const original = protocol(choice)(produce)
    if (!isSupported(original.request, produce)) return original
    async function encode() {
      const buffer = encodeProduce(produce, Date.now())
      return { buf: buffer, buffer }
    }
    return { ...original, request: { ...original.request, encode } }
  }
}

/** Sluice never sends the rest: compressed records, their own times, old versions. */
function isSupported({ apiVersion }: Request, { compression, topicData }: ProduceRequest): boolean {
  if (apiVersion < 3 || compression) return false
  return topicData.every(({ partitions }) =>
    partitions.every(({ messages }) => messages.every(({ timestamp }) => timestamp === undefined)),
  )
}
