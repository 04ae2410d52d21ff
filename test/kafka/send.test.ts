import { expect, test } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { createSender } from '../../kafka/send.ts'

const record = { topic: 'work', message: { key: Buffer.from('a'), value: 'x' } }

test('a producer that needed a second try is not used for another send, and no other is replaced', async () => {
  const sends: number[] = []
  let made = 0
  const kafka = {
    producer({ createPartitioner }: { createPartitioner: () => (of: object) => number }) {
      const [number, partition] = [++made, createPartitioner()]
      return {
        connect: async () => {},
        disconnect: async () => {},
        async sendBatch({ topicMessages: [{ topic, messages }] }: { topicMessages: [Messages] }) {
          // as when a partition has a new leader before the old one has answered
          const tries = sends.push(number) === 1 ? 2 : 1
          for (let count = 0; count < tries; count++)
            for (const message of messages) partition({ topic, message, partitionMetadata: [{}] })
          return [{ topicName: topic, partition: 0 }]
        },
      }
    },
  }
  type Messages = { topic: string; messages: object[] }
  const failures = { add: () => undefined }
  // of a connection a sender takes no more than this
  const sender = await createSender({ kafka, failures } as unknown as Connection)
  const outcomes: string[] = []
  for (let times = 0; times < 3; times++)
    await sender.send([record], (_, outcome) => void outcomes.push(outcome))
  expect(outcomes).toEqual(['acked', 'acked', 'acked'])
  expect(sends).toEqual([1, 2, 2])
})

test.each([
  ['whose time the broker does not take goes once the clock is right', 'INVALID_TIMESTAMP', 'acked'],
  ['that the broker never takes is refused', 'INVALID_RECORD', 'refused'],
])('a record %s', async (_, type, outcome) => {
  let tries = 0
  const kafka = {
    producer: ({ createPartitioner }: { createPartitioner: () => (of: object) => number }) => ({
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch() {
        createPartitioner()({ topic: 'work', message: record.message, partitionMetadata: [{}] })
        tries += 1
        if (tries === 1) throw Object.assign(new Error('no'), { type })
        return [{ topicName: 'work', partition: 0 }]
      },
    }),
  }
  const failures = { add: () => undefined }
  // of a connection a sender takes no more than this
  const sender = await createSender({ kafka, failures } as unknown as Connection)
  const outcomes: string[] = []
  await sender.send([record], (_, told) => void outcomes.push(told))
  expect(outcomes).toEqual([outcome])
})
