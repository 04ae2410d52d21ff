import fc from 'fast-check'
import { Partitioners } from 'kafkajs'
import { expect, test } from 'vitest'
import { murmur2, partitionOf, place } from '../../kafka/produce/partition.ts'

// from the tests of Kafka's Java client
test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])('murmur2 of %j is what the Java client computes', (key, hash) => {
  expect(murmur2(Buffer.from(key))).toBe(hash)
})

test('any key gets the partition that other clients choose', () => {
  const theirs = Partitioners.DefaultPartitioner()
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 100 }), (bytes, count) => {
      const key = Buffer.from(bytes)
      const partitionMetadata = Array.from({ length: count }, (_, partitionId) => ({
        partitionId,
        partitionErrorCode: 0,
        leader: 0,
        replicas: [],
        isr: [],
      }))
      expect(partitionOf(key, count)).toBe(
        theirs({ topic: '', partitionMetadata, message: { key, value: '' } }),
      )
    }),
  )
})

test('a record keeps its partition while it is being sent, even if the topic grows', () => {
  const records = Array.from({ length: 100 }, (_, i) => ({ key: Buffer.from(`user-${i}`) }))
  const first = records.map((record) => place(record, 1))
  expect(records.map((record) => place(record, 12))).toEqual(first)
})

test('a record with a given partition goes there, whatever its key', () => {
  expect(place({ key: Buffer.from('21'), partition: 7 }, 12)).toBe(7)
})
