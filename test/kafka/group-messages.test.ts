import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { groupMessages, originalGrouping } from '../../kafka/patches/group-messages.ts'

const messages = fc.array(fc.record({ value: fc.string({ maxLength: 3 }), partition: fc.nat(5) }), {
  maxLength: 100,
})

test('messages are grouped by partition in their order, like kafkajs does', () => {
  fc.assert(
    fc.property(messages, fc.constantFrom(0, 6), (list, partitions) => {
      const of = {
        topic: 'work',
        messages: list,
        partitionMetadata: Array.from({ length: partitions }, (_, partitionId) => ({
          partitionErrorCode: 0,
          partitionId,
          leader: 1,
          replicas: [],
          isr: [],
        })),
        partitioner: ({ message }: { message: { partition?: number } }) => message.partition ?? 0,
      }
      expect(groupMessages(of)).toEqual(originalGrouping(of))
    }),
  )
})

test("it replaces kafkajs's function", () => {
  const require = createRequire(import.meta.url)
  expect(require('kafkajs/src/producer/groupMessagesPerPartition')).toBe(groupMessages)
})
