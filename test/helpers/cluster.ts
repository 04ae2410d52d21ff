import { randomUUID } from 'node:crypto'
import type { KafkaMessage } from 'kafkajs'
import { inject, onTestFinished } from 'vitest'
import { createTopics } from '../../kafka/admin/topics.ts'
import { type Connection, connect, type KafkaConfig } from '../../kafka/client.ts'
import { PARKED } from '../../kafka/produce/park.ts'
import { createLog } from '../../process/log.ts'
import type { SchemaTopic as Topic } from '../../schemas/topics.ts'

/** @returns a connection with a prefix of its own on the run's broker (or another), and `topics` made. */
export async function connection(
  topics: Partial<Topic>[],
  brokers = inject('kafkaBrokers'),
): Promise<Connection> {
  const config: KafkaConfig = {
    brokers: brokers.split(','),
    ssl: false,
    sasl: undefined,
    topicPrefix: `t${randomUUID().slice(0, 8)}.`,
    partitions: 4,
    replication: 1,
  }
  const made = connect(config, {
    clientId: 'test',
    log: createLog({ role: 'start', level: process.env.TEST_LOG ?? 'silent' }),
  })
  const table: Topic[] = [{ name: PARKED }, ...topics].map((topic) => ({
    name: 'work',
    partitions: 'many',
    retention: 3_600_000,
    ...topic,
  }))
  await createTopics(made, table, config)
  return made
}

/** Makes a topic that refuses larger batches; from its beginning, as a broker follows a change of settings only some time after it. */
export async function narrowTopic(on: Connection, name: string, maxBytes: number): Promise<void> {
  const admin = on.kafka.admin()
  await admin.connect()
  const configEntries = [{ name: 'max.message.bytes', value: String(maxBytes) }]
  const topic = { topic: on.named(name), numPartitions: 1, configEntries }
  await admin.createTopics({ topics: [topic], waitForLeaders: true })
  await admin.disconnect()
}

export type ReadRecord = {
  key: string
  value: Buffer
  partition: number
  offset: number
  headers: Record<string, string>
}

/** @returns every record of a topic up to its present end, by partition and offset. */
export async function readAll(from: Connection, topic: string): Promise<ReadRecord[]> {
  const found: ReadRecord[] = []
  await readEach(from, topic, (record) => void found.push(record))
  return found
}

/** Hands over every record of a topic up to its present end, by partition and offset. */
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

/** @returns how many records there have been of a topic; one of a transaction has a marker behind it. */
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
  // -1: nothing yet
  const done = new Map(
    committed[0]?.partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]),
  )
  return ends.reduce((sum, { partition, high }) => sum + Number(high) - (done.get(partition) ?? 0), 0)
}

/** Closes at the end of the test, also of a failed one. */
export function closing<T extends { close(): Promise<unknown> }>(open: T): T {
  onTestFinished(async () => void (await open.close()))
  return open
}
