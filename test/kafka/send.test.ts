import { expect, test } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { type Acked, AckedEnds } from '../../kafka/produce/acked-ends.ts'
import { createSender } from '../../kafka/produce/send.ts'

const record = { topic: 'work', message: { key: Buffer.from('a'), value: 'x' } }

test('only a producer that needed a second try is replaced before the next send', async () => {
  const sends: number[] = []
  let made = 0
  const kafka = {
    producer({ createPartitioner }: { createPartitioner: () => (of: object) => number }) {
      const [number, partition] = [++made, createPartitioner()]
      return {
        connect: async () => {},
        disconnect: async () => {},
        async sendBatch({ topicMessages: [{ topic, messages }] }: { topicMessages: [Messages] }) {
          // as if a new leader came before the old one has answered
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
  // a sender uses only this much of a connection
  const sender = await createSender({ kafka, failures } as unknown as Connection, { add: () => undefined })
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
  // a sender uses only this much of a connection
  const sender = await createSender({ kafka, failures } as unknown as Connection, { add: () => undefined })
  const outcomes: string[] = []
  await sender.send([record], (_, told) => void outcomes.push(told))
  expect(outcomes).toEqual([outcome])
})

test('a record whose partition is missing from the answer is sent again', async () => {
  const [first, second] = ['a', 'b'].map((value, partition) => ({
    topic: 'work',
    message: { key: Buffer.from('k'), partition, value },
  }))
  if (!first || !second) expect.fail('two records')
  const sends: unknown[][] = []
  const kafka = {
    producer: ({ createPartitioner }: { createPartitioner: () => (of: object) => number }) => ({
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch({
        topicMessages: [{ messages }],
      }: {
        topicMessages: [{ messages: { value: string }[] }]
      }) {
        for (const message of messages)
          createPartitioner()({ topic: 'work', message, partitionMetadata: [{}, {}] })
        // kafkajs loses a partition whose leader moves
        const partitions = sends.push(messages.map(({ value }) => value)) === 1 ? [0] : [0, 1]
        return partitions.map((partition) => ({ topicName: 'work', partition }))
      },
    }),
  }
  // a sender uses only this much of a connection
  const sender = await createSender({ kafka } as unknown as Connection, { add: () => undefined })
  const acked: unknown[] = []
  await sender.send([first, second], ({ message }) => void acked.push(message.value))
  expect([sends, acked]).toEqual([
    [['a', 'b'], ['b']],
    ['a', 'b'],
  ])
})

test('records of a partition with too few in-sync replicas are handed back, and others are acknowledged', async () => {
  const [first, second, third] = ['a', 'b', 'c'].map((value, nth) => ({
    topic: 'work',
    message: { key: Buffer.from('k'), partition: nth % 2, value },
  }))
  if (!first || !second || !third) expect.fail('three records')
  let made = 0
  let isShort = true
  const sends: unknown[][] = []
  const kafka = {
    producer({ createPartitioner }: { createPartitioner: () => (of: object) => number }) {
      const number = ++made
      return {
        connect: async () => {},
        disconnect: async () => {},
        async sendBatch({
          topicMessages: [{ messages }],
        }: {
          topicMessages: [{ messages: { value: string }[] }]
        }) {
          for (const message of messages)
            createPartitioner()({ topic: 'work', message, partitionMetadata: [{}, {}] })
          sends.push([number, ...messages.map(({ value }) => value)])
          return [0, 1].map((partition) => ({
            topicName: 'work',
            partition,
            errorCode: partition === 0 && isShort ? 19 : 0,
          }))
        },
      }
    },
  }
  const said: object[] = []
  const failures = { add: ({ fields = {} }: { fields?: object }) => void said.push(fields) }
  // a sender uses only this much of a connection
  const sender = await createSender({ kafka, failures } as unknown as Connection, { add: () => undefined })
  const acked: unknown[] = []
  const settle = ({ message }: typeof first) => void acked.push(message.value)
  const left = await sender.send([first, second, third], settle)
  expect([left, acked]).toEqual([[first, third], ['b']])
  expect(said).toEqual([{ partitions: ['work/0'] }])
  isShort = false
  expect(await sender.send(left, settle)).toEqual([])
  expect([sends, acked]).toEqual([
    [
      [1, 'a', 'b', 'c'],
      [1, 'a', 'c'],
    ],
    ['b', 'a', 'c'],
  ])
})

test('while partitions have too few in-sync replicas, all of them are named, also if only one was tried', async () => {
  const short = new Set([0, 1])
  const kafka = {
    producer: ({ createPartitioner }: { createPartitioner: () => (of: object) => number }) => ({
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch({ topicMessages: [{ messages }] }: { topicMessages: [{ messages: object[] }] }) {
        return messages.map((message) => {
          const partition = createPartitioner()({ topic: 'work', message, partitionMetadata: [{}, {}] })
          return { topicName: 'work', partition, errorCode: short.has(partition) ? 19 : 0 }
        })
      },
    }),
  }
  const said: object[] = []
  const failures = { add: ({ fields = {} }: { fields?: object }) => void said.push(fields) }
  // a sender uses only this much of a connection
  const sender = await createSender({ kafka, failures } as unknown as Connection, { add: () => undefined })
  const write = (...partitions: number[]) =>
    sender.send(
      partitions.map((partition) => ({
        topic: 'work',
        message: { key: Buffer.from('k'), partition, value: 'x' },
      })),
      () => undefined,
    )
  await write(0, 1)
  await write(1)
  short.delete(0)
  await write(0)
  await write(1)
  expect(said).toEqual(
    [['work/0', 'work/1'], ['work/0', 'work/1'], ['work/1']].map((partitions) => ({ partitions })),
  )
})

test('after a send that failed, a new producer sends again: the old one would reuse its sequence numbers', async () => {
  let made = 0
  const sends: number[] = []
  const kafka = {
    producer({ createPartitioner }: { createPartitioner: () => (of: object) => number }) {
      const number = ++made
      return {
        connect: async () => {},
        disconnect: async () => {},
        async sendBatch() {
          createPartitioner()({ topic: 'work', message: record.message, partitionMetadata: [{}] })
          if (sends.push(number) === 1) throw new Error('the connection is gone')
          return [{ topicName: 'work', partition: 0 }]
        },
      }
    },
  }
  const failures = { add: () => undefined }
  // a sender uses only this much of a connection
  const sender = await createSender({ kafka, failures } as unknown as Connection, { add: () => undefined })
  await sender.send([record], () => undefined)
  expect(sends).toEqual([1, 2])
})

test('the records of a batch are counted', async () => {
  const lost: object[] = []
  const report = (loss: object) => void lost.push(loss)
  const batches = [7, 8]
  const kafka = {
    producer: ({ createPartitioner }: { createPartitioner?: () => (of: object) => number }) => ({
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch({ topicMessages: [{ messages }] }: { topicMessages: [{ messages: object[] }] }) {
        for (const message of messages)
          createPartitioner?.()({ topic: 'work', message, partitionMetadata: [{}] })
        return [{ topicName: 'work', partition: 0, baseOffset: String(batches.shift()) }]
      },
      async send() {},
    }),
  }
  // a sender uses only this much of a connection
  const connection = { kafka, failures: { add: () => undefined } } as unknown as Connection
  const sender = await createSender(connection, new AckedEnds(report, () => undefined))
  const three = [1, 2, 3].map(() => ({ topic: 'work', message: { key: Buffer.from('a'), value: 'x' } }))
  await sender.send(three, () => undefined)
  await sender.send(three, () => undefined)
  expect(lost).toEqual([{ topic: 'work', partition: 0, cause: 'truncated', offset: 10, to: 8 }])
})

test('the leader of the last try is noted as the one that has acknowledged the records', async () => {
  const kafka = {
    producer: ({ createPartitioner }: { createPartitioner: () => (of: object) => number }) => ({
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch({ topicMessages: [{ messages }] }: { topicMessages: [{ messages: object[] }] }) {
        // kafkajs lists partitions in any order
        for (const leader of [4, 5])
          for (const message of messages) {
            const partitionMetadata = [
              { partitionId: 1, leader },
              { partitionId: 0, leader: 3 },
            ]
            createPartitioner()({ topic: 'work', message, partitionMetadata })
          }
        return [0, 1].map((partition) => ({ topicName: 'work', partition, baseOffset: '7' }))
      },
    }),
  }
  const acked: Acked[] = []
  const failures = { add: () => undefined }
  const connection = { kafka, failures } as unknown as Connection
  const sender = await createSender(connection, { add: (acks) => void acked.push(acks) })
  const records = [0, 1, 1].map((partition) => ({
    topic: 'work',
    message: { key: Buffer.from('a'), partition, value: 'x' },
  }))
  await sender.send(records, () => undefined)
  expect([...(acked[0]?.get('work') ?? [])]).toEqual([
    [0, { base: 7, count: 1, leader: 3 }],
    [1, { base: 7, count: 2, leader: 5 }],
  ])
})
