import type { ITopicConfig } from 'kafkajs'
import pRetry from 'p-retry'
import type { KafkaConfig } from '../config.ts'
import type { Topic } from '../schemas/topics.ts'
import type { Connection } from './client.ts'
import { ConfigResourceTypes } from './kafkajs.ts'
import { asConfigError, settingsOf } from './refusal.ts'

/** `differences`: how topics that exist differ from the table, one line each. `brokers`: how many the cluster has. */
export type Found = { differences: string[]; brokers: number }

/**
 * Creates the topics that are missing; what exists is left as it is. Repeating it, and several processes doing it at once, is
 * harmless.
 * @throws when Kafka cannot be reached within about half a minute; ConfigError when it does not let us in, with what the settings say.
 */
export async function createTopics(
  connection: Connection,
  topics: readonly Topic[],
  config: KafkaConfig,
): Promise<Found> {
  const admin = connection.kafka.admin()
  const wanted = topics.map((topic) => topicConfig(topic, connection, config))
  try {
    await getIn(admin)
    const existing = new Set(await admin.listTopics())
    const missing = wanted.filter(({ topic }) => !existing.has(topic))
    if (missing.length > 0)
      await pRetry(() => admin.createTopics({ topics: missing, waitForLeaders: true }), {
        retries: 5,
        minTimeout: 250,
      })
    // one that has just been made, here or by another process, has no leader yet for a while, and readers of it fail
    const names = wanted.map(({ topic }) => topic)
    await pRetry(() => admin.fetchTopicMetadata({ topics: names }), {
      retries: 12,
      minTimeout: 100,
      maxTimeout: 2_000,
    })
    const { brokers } = await admin.describeCluster()
    const existed = wanted.filter(({ topic }) => existing.has(topic))
    return { differences: await differences(admin, existed), brokers: brokers.length }
  } finally {
    await admin.disconnect()
  }
}

/** Of a topic: with three replicas one may be away and acks=all still means two copies. */
const ADVISED_COPIES = 3

/** @returns what there is to say of a REPLICATION of 1 where the cluster has room for the copies that are advised. */
export function onlyCopy(of: { brokers: number; replication: number }): string | undefined {
  if (of.replication > 1 || of.brokers < ADVISED_COPIES) return undefined
  return `REPLICATION is 1 on a cluster of ${of.brokers} brokers: the only copy of what a new topic holds goes with its broker`
}

/** A refusal does not pass by itself, other than a broker that is away. */
async function getIn(admin: Admin): Promise<void> {
  try {
    await pRetry(() => admin.connect(), {
      retries: 8,
      minTimeout: 250,
      maxTimeout: 4_000,
      shouldRetry: ({ error }) => settingsOf(error.message) === undefined,
    })
  } catch (error) {
    throw asConfigError(error)
  }
}

/** @returns the topics that there are, named without prefix. */
export async function listTopics(connection: Connection): Promise<string[]> {
  const admin = connection.kafka.admin()
  try {
    await admin.connect()
    const names = await admin.listTopics()
    return names.filter((name) => name.startsWith(connection.named(''))).map(connection.plain)
  } finally {
    await admin.disconnect()
  }
}

function topicConfig(
  { name, partitions, kept }: Topic,
  { named }: Connection,
  config: KafkaConfig,
): ITopicConfig {
  const durability = config.replication >= ADVISED_COPIES ? [{ name: 'min.insync.replicas', value: '2' }] : []
  return {
    topic: named(name),
    numPartitions: partitions === 'many' ? config.partitions : partitions,
    replicationFactor: config.replication,
    configEntries: [...retention(kept), ...durability],
  }
}

function retention(kept: Topic['kept']): { name: string; value: string }[] {
  if (kept === 'compact') return [{ name: 'cleanup.policy', value: 'compact' }]
  const [policy, ms] = typeof kept === 'number' ? ['delete', kept] : ['compact,delete', kept.compact]
  return [
    { name: 'cleanup.policy', value: policy },
    { name: 'retention.ms', value: String(ms) },
  ]
}

type Admin = ReturnType<Connection['kafka']['admin']>

async function differences(admin: Admin, wanted: readonly ITopicConfig[]): Promise<string[]> {
  if (wanted.length === 0) return []
  const { topics } = await admin.fetchTopicMetadata({ topics: wanted.map(({ topic }) => topic) })
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: wanted.map(({ topic }) => ({ type: ConfigResourceTypes.TOPIC, name: topic })),
  })
  return wanted.flatMap(({ topic, numPartitions, configEntries = [] }) => {
    const found = topics.find(({ name }) => name === topic)?.partitions.length
    const lines = found === numPartitions ? [] : [`${topic}: ${found} partitions, not ${numPartitions}`]
    const entries = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? []
    for (const { name, value } of configEntries) {
      const actual = entries.find(({ configName }) => configName === name)?.configValue
      if (actual !== value) lines.push(`${topic}: ${name} is ${actual}, not ${value}`)
    }
    return lines
  })
}
