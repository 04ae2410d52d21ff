import { randomUUID } from 'node:crypto'
import type { KafkaMessage } from 'kafkajs'
import type { Connection } from '../../kafka/client.ts'

export type ReadRecord = {
  key: string
  value: Buffer
  partition: number
  offset: number
  headers: Record<string, string>
}

/** @returns all records of a topic up to its end now, by partition and offset. */
export async function readAll(from: Connection, topic: string): Promise<ReadRecord[]> {
  const found: ReadRecord[] = []
  await readEach(from, topic, (record) => void found.push(record))
  return found
}

/** Like `readAll`, one record at a time: for topics that do not fit in memory. */
export async function readEach(
  from: Connection,
  topic: string,
  onRecord: (record: ReadRecord) => void,
): Promise<void> {
  const admin = from.kafka.admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(from.named(topic))
  await admin.disconnect()
  const consumer = from.kafka.consumer({ groupId: from.named(`read.${randomUUID()}`), maxWaitTimeInMs: 50 })
  const left = new Set(
    ends.filter(({ low, high }) => Number(high) > Number(low)).map(({ partition }) => partition),
  )
  if (left.size === 0) return
  await consumer.connect()
  await consumer.subscribe({ topics: [from.named(topic)], fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachBatch: async ({ batch: { partition, messages } }) => {
          for (const message of messages) onRecord(recordOf(message, partition))
          const last = Number(messages.at(-1)?.offset)
          if (last + 1 >= Number(ends.find((end) => end.partition === partition)?.high))
            left.delete(partition)
          if (left.size === 0) resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
}

function recordOf({ key, value, headers, offset }: KafkaMessage, partition: number): ReadRecord {
  return {
    key: String(key),
    value: value ?? Buffer.alloc(0),
    partition,
    offset: Number(offset),
    headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)])),
  }
}

/** @returns the sum of a topic's end offsets. Each transaction adds a marker. */
export async function ended({ kafka, named }: Connection, topic: string): Promise<number> {
  const admin = kafka.admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(named(topic))
  await admin.disconnect()
  return ends.reduce((sum, { high }) => sum + Number(high), 0)
}

/** @returns how many records a group has not committed. */
export async function lag(
  { kafka, named }: Connection,
  of: { group: string; topic: string },
): Promise<number> {
  const admin = kafka.admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(named(of.topic))
  const committed = await admin.fetchOffsets({ groupId: named(of.group), topics: [named(of.topic)] })
  await admin.disconnect()
  // -1: nothing is committed yet
  const done = new Map(
    committed[0]?.partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]),
  )
  return ends.reduce((sum, { partition, high }) => sum + Number(high) - (done.get(partition) ?? 0), 0)
}
