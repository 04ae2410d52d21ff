import { createRequire } from 'node:module'
import fc from 'fast-check'
import type { Message } from 'kafkajs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { replaceProduceEncoder } from '../../kafka/patches/produce-encoder.ts'
import { encodeProduce, type ProduceRequest } from '../../kafka/protocol/encode-produce.ts'

type Encoded = { request: { apiVersion: number; encode(): Promise<{ buffer: Buffer }> } }
const definition = createRequire(import.meta.url)('kafkajs/src/protocol/requests/produce')
const original: (choice: { version: string }) => (request: ProduceRequest) => Encoded = definition.protocol

beforeAll(replaceProduceEncoder)
beforeAll(() => void vi.useFakeTimers({ now: 1_764_000_000_123 }))
afterAll(() => void vi.useRealTimers())

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const text = fc.string({ unit: 'grapheme', maxLength: 80 })
const field = fc.oneof(text, bytes)
const headers = fc.dictionary(text, fc.oneof(field, fc.array(field, { maxLength: 3 })), { maxKeys: 4 })
const plain: fc.Arbitrary<Message> = fc.record({
  key: fc.option(field, { nil: null }),
  value: fc.option(fc.oneof(field, fc.constant(Buffer.alloc(20_000, 'long'))), { nil: null }),
})
const message = fc.oneof(
  plain,
  fc.tuple(plain, headers).map(([one, its]) => ({ ...one, headers: its })),
)
const partition = fc.record({
  partition: fc.nat(),
  firstSequence: fc.nat(),
  messages: fc.array(message, { minLength: 1, maxLength: 200 }),
})
const request: fc.Arbitrary<ProduceRequest> = fc.record({
  transactionalId: fc.option(text, { nil: undefined }),
  acks: fc.constantFrom(-1, 0, 1),
  timeout: fc.nat(),
  compression: fc.constant(0),
  producerId: fc.bigInt({ min: -1n, max: 2n ** 63n - 1n }),
  producerEpoch: fc.integer({ min: -1, max: 32_767 }),
  topicData: fc.array(fc.record({ topic: text, partitions: fc.array(partition, { maxLength: 3 }) }), {
    maxLength: 3,
  }),
})

test('a request is byte for byte what kafkajs would send', async () => {
  await fc.assert(
    fc.asyncProperty(request, async (given) => {
      const { buffer } = await original({ version: '7' })(given).request.encode()
      expect(encodeProduce(given, Date.now()).equals(buffer)).toBe(true)
    }),
    { numRuns: 60 },
  )
})

test.each([
  ['compressed records', { compression: 1 }, '7'],
  ['a record with a time of its own', { timestamp: '1764000000001' }, '7'],
  ['a broker from before record batches', {}, '2'],
])('%s are left to kafkajs', async (_, { compression = 0, timestamp }: Left, version) => {
  const own = { key: 'k', value: 'v', ...(timestamp && { timestamp }) }
  const given: ProduceRequest = {
    acks: -1,
    timeout: 1,
    compression,
    producerId: 5n,
    producerEpoch: 0,
    topicData: [{ topic: 'events', partitions: [{ partition: 0, firstSequence: 0, messages: [own] }] }],
  }
  const theirs = await original({ version })(given).request.encode()
  const sent = await definition.protocol({ version })(given).request.encode()
  expect(sent.buffer.equals(theirs.buffer)).toBe(true)
})

type Left = { compression?: number; timestamp?: string }
