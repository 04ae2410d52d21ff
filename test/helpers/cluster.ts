import { randomUUID } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import { type OwnBroker, startOwnBroker } from '../../harness/kafka/broker.ts'
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

/** Closes at the end of the test, also of a failed one. */
export function closing<T extends { close(): Promise<unknown> }>(open: T): T {
  onTestFinished(async () => void (await open.close()))
  return open
}

/** A broker of its own that is gone at the end of the test. */
export const ownBroker = async (): Promise<OwnBroker> => closing(await startOwnBroker())
export { ended, lag, type ReadRecord, readAll, readEach } from '../../harness/kafka/topics.ts'
