import { randomUUID } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import { type Admin, withAdmin } from '../../harness/kafka/topics.ts'
import { until } from '../../harness/until.ts'
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
  const config = configOf(brokers)
  const made = connect(config, ofTests())
  const table: Topic[] = [{ name: PARKED }, ...topics].map((topic) => ({
    name: 'work',
    partitions: 'many',
    retention: 3_600_000,
    ...topic,
  }))
  await createTopics(made, table, config)
  await withAdmin(made, (admin) => Promise.all(table.map(({ name }) => untilServed(admin, made.named(name)))))
  return made
}

/** A busy broker serves a new topic only after a while: until then, "this server does not host this topic-partition". */
export const untilServed = (admin: Admin, topic: string) => until(() => admin.fetchTopicOffsets(topic))

const configOf = (brokers: string): KafkaConfig => ({
  brokers: brokers.split(','),
  ssl: false,
  sasl: undefined,
  topicPrefix: `t${randomUUID().slice(0, 8)}.`,
  partitions: 4,
  replication: 1,
})

const ofTests = () => ({
  clientId: 'test',
  log: createLog({ role: 'start', level: process.env.TEST_LOG ?? 'silent' }),
})

/** A connection without topics. */
export const connectTo = (brokers: string): Connection => connect(configOf(brokers), ofTests())

/** Creates a topic with one partition that refuses larger batches. A broker applies a later change only after a while. */
export const narrowTopic = (on: Connection, name: string, maxBytes: number): Promise<void> =>
  topicWith(on, name, { 'max.message.bytes': String(maxBytes) })

/** Creates a topic with one partition and these settings. */
export async function topicWith(
  on: Connection,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const configEntries = Object.entries(settings).map(([setting, value]) => ({ name: setting, value }))
  const topics = [{ topic: on.named(name), numPartitions: 1, configEntries }]
  await withAdmin(on, async (admin) => {
    await admin.createTopics({ topics, waitForLeaders: false })
    await untilServed(admin, on.named(name))
  })
}

/**
 * Resolves as soon as a topic has more records than before `begin`. One client looks, because what is to be interrupted
 * could end while another one connects.
 */
export const untilGrown = <T>(on: Connection, name: string, begin: () => T | Promise<T>): Promise<T> =>
  withAdmin(on, async (admin) => {
    const end = async () =>
      (await admin.fetchTopicOffsets(on.named(name))).reduce((sum, { high }) => sum + Number(high), 0)
    const before = await end()
    const begun = await begin()
    await until(async () => (await end()) > before)
    return begun
  })

/** Closes at the end of the test, also of a failed one. */
export function closing<T extends { close(): Promise<unknown> }>(open: T): T {
  onTestFinished(async () => void (await open.close()))
  return open
}
export { ended, lag, type ReadRecord, readAll, readEach } from '../../harness/kafka/topics.ts'
