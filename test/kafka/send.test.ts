import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { createSender } from '../../kafka/send.ts'
import { createLog } from '../../log.ts'

const record = { topic: 'work', message: { key: Buffer.from('a'), value: 'x' } }

test('a producer with a produce request that was given up is not used for another send, and no other is replaced', async () => {
  const sends: number[] = []
  let made = 0
  const kafka = {
    producer({ createPartitioner }: { createPartitioner: () => (of: object) => number }) {
      const [number, partition] = [++made, createPartitioner()]
      const events = new EventEmitter()
      return {
        events: { REQUEST_TIMEOUT: 'timeout' },
        on: events.on.bind(events),
        // as when the first broker that is asked is silent
        connect: async () => void events.emit('timeout', { payload: { apiKey: 18 } }),
        disconnect: async () => {},
        async sendBatch({ topicMessages: [{ topic, messages }] }: { topicMessages: [Messages] }) {
          for (const message of messages) partition({ topic, message, partitionMetadata: [{}] })
          // as when the partition has a new leader before the old one's time is over
          if (sends.push(number) === 1) events.emit('timeout', { payload: { apiKey: 0 } })
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
