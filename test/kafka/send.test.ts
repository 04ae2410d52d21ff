import { expect, test } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { createSender } from '../../kafka/send.ts'
import { createLog } from '../../log.ts'

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
  const log = createLog({ role: 'start', level: 'silent' })
  // of a connection a sender takes no more than this
  const sender = await createSender({ kafka, log } as unknown as Connection)
  const outcomes: string[] = []
  for (let times = 0; times < 3; times++)
    await sender.send([record], (_, outcome) => void outcomes.push(outcome))
  expect(outcomes).toEqual(['acked', 'acked', 'acked'])
  expect(sends).toEqual([1, 2, 2])
})
