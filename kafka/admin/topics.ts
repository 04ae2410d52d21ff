import type { ITopicConfig } from 'kafkajs'
import pRetry from 'p-retry'
import type { Connection, KafkaConfig } from '../client.ts'
import { ConfigResourceTypes } from '../patches/kafkajs.ts'
import { asConfigError, asTopicError, untilBack } from './failures.ts'
import { ADVISED_REPLICAS, spread, tooShort, wrongPolicy } from './topic-faults.ts'

/** `name`: without prefix. */
export type Topic = {
  name: string
  /**
   * `many`: as PARTITIONS says; may grow. `fixed`: as it said at creation; with more, earlier records would be looked
   * for in the wrong partition. 1: only partition 0 is used.
   */
  partitions: 'many' | 'fixed' | 1
  /** In ms. `compact`: the last record of each key stays, forever or for so many ms. */
  retention: number | 'compact' | { compact: number }
  /** How long a record may wait, in ms. A shorter retention would delete unread records. */
  requiredMs?: number
}

/**
 * `differences`: settings that differ from the table of topics. `losing`: those that make Kafka delete needed records,
 * with the fix. `brokers`: their number.
 */
export type Found = { differences: string[]; losing: string[]; brokers: number }

/**
 * Creates missing topics. Several processes may do so at once.
 * @throws when Kafka refuses connections for two to three minutes; ConfigError when it refuses access.
 */
export async function createTopics(
  connection: Connection,
  topics: readonly Topic[],
  config: KafkaConfig,
): Promise<Found> {
  const admin = connection.kafka.admin()
  const configs = topics.map((topic) => topicConfig(topic, connection, config))
  try {
    await connectTo(admin)
    const existing = new Set(await untilBack(() => topicNames(admin)))
    const missing = configs.filter(({ topic }) => !existing.has(topic))
    if (missing.length > 0)
      await pRetry(() => admin.createTopics({ topics: missing, waitForLeaders: true }), {
        retries: 5,
        minTimeout: 250,
      }).catch((error: unknown) => {
        throw asConfigError(asTopicError(error))
      })
    const names = configs.map(({ topic }) => topic)
    await pRetry(() => untilLed(admin, { names, existing }), {
      retries: 12,
      minTimeout: 100,
      maxTimeout: 2_000,
    })
    const { brokers } = await untilBack(() => answered(admin.describeCluster()))
    const existed = configs.filter(({ topic }) => existing.has(topic))
    const settings = await untilBack(() => answered(settingsOfTopics(admin, existed)))
    const losing = topics.flatMap(({ name, retention, requiredMs }) => {
      const topic = connection.named(name)
      const entries = settings.get(topic)?.entries
      return [
        ...(wrongPolicy(topic, entries?.get(POLICY), retention) ?? []),
        ...(tooShort(topic, entries?.get(RETENTION), requiredMs) ?? []),
      ]
    })
    const fixed = topics.filter(({ partitions }) => partitions === 'fixed')
    return {
      differences: differences(existed, settings, new Set(fixed.map(({ name }) => connection.named(name)))),
      losing: [...losing, ...(await spreadTables(admin, { topics, settings, connection }))],
      brokers: brokers.length,
    }
  } finally {
    await admin.disconnect()
  }
}

/** A new topic has no leaders at first. An existing topic may lack them for long: a process starts without them. */
async function untilLed(
  admin: Pick<Admin, 'fetchTopicMetadata'>,
  { names, existing }: { names: string[]; existing: ReadonlySet<string> },
): Promise<void> {
  const { topics } = await answered(admin.fetchTopicMetadata({ topics: names }))
  const leaderless = topics.filter(
    ({ name, partitions }) => !existing.has(name) && partitions.some(({ leader }) => leader < 0),
  )
  if (leaderless.length > 0) throw new Error(`no leader for ${leaderless.map(({ name }) => name).join(', ')}`)
}

async function connectTo(admin: Admin): Promise<void> {
  try {
    await untilBack(() => admin.connect())
  } catch (error) {
    throw asConfigError(error)
  }
}

/** @returns names with prefix. */
export const topicNames = (admin: Pick<Admin, 'listTopics'>): Promise<string[]> =>
  answered(admin.listTopics())

/** Without an answer, kafkajs throws a TypeError, which is not retried: this throws a plain error. */
async function answered<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (cause) {
    throw cause instanceof TypeError ? new Error('no broker describes its topics', { cause }) : cause
  }
}

/**
 * @returns names without prefix.
 * @throws like `createTopics`.
 */
export async function listTopics(connection: Connection): Promise<string[]> {
  const admin = connection.kafka.admin()
  try {
    await connectTo(admin)
    const names = await untilBack(() => topicNames(admin))
    return names.filter((name) => name.startsWith(connection.named(''))).map(connection.plain)
  } finally {
    await admin.disconnect()
  }
}

function topicConfig(
  { name, partitions, retention }: Topic,
  { named }: Connection,
  config: KafkaConfig,
): ITopicConfig {
  const durability =
    config.replication >= ADVISED_REPLICAS ? [{ name: 'min.insync.replicas', value: '2' }] : []
  return {
    topic: named(name),
    numPartitions: partitions === 1 ? 1 : config.partitions,
    replicationFactor: config.replication,
    configEntries: [...cleanup(retention), ...durability],
  }
}

const RETENTION = 'retention.ms'
const POLICY = 'cleanup.policy'

function cleanup(retention: Topic['retention']): { name: string; value: string }[] {
  if (retention === 'compact') return [{ name: POLICY, value: 'compact' }]
  const [policy, ms] =
    typeof retention === 'number' ? ['delete', retention] : ['compact,delete', retention.compact]
  const age = { name: RETENTION, value: String(ms) }
  return [{ name: POLICY, value: policy }, age, ...(ms > 0 ? KEEP_UNREAD : [])]
}

/** How much the clock of a writer may be off. Kafka refuses records beyond it. */
export const MAX_CLOCK_ERROR_MS = 3_600_000

/**
 * Protects unread records. Deletion by size would remove the oldest. Deletion by age uses the record's time, which is
 * too old if the writer's clock is behind. So the broker refuses records over an hour old, and the writer retries. It
 * also refuses those over an hour ahead, by default only since Kafka 4; control relies on it
 * (control/api/auth/sessions.ts).
 */
const KEEP_UNREAD = [
  { name: 'retention.bytes', value: '-1' },
  { name: 'message.timestamp.before.max.ms', value: String(MAX_CLOCK_ERROR_MS) },
  { name: 'message.timestamp.after.max.ms', value: String(MAX_CLOCK_ERROR_MS) },
]

type Admin = ReturnType<Connection['kafka']['admin']>
type Actual = { partitions: number | undefined; entries: ReadonlyMap<string, string> }

async function settingsOfTopics(
  admin: Admin,
  configs: readonly ITopicConfig[],
): Promise<ReadonlyMap<string, Actual>> {
  if (configs.length === 0) return new Map()
  const { topics } = await admin.fetchTopicMetadata({ topics: configs.map(({ topic }) => topic) })
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: configs.map(({ topic }) => ({ type: ConfigResourceTypes.TOPIC, name: topic })),
  })
  return new Map(
    configs.map(({ topic }) => {
      const partitions = topics.find(({ name }) => name === topic)?.partitions.length
      const entries = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? []
      return [
        topic,
        {
          partitions,
          entries: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
        },
      ]
    }),
  )
}

type Spread = { topics: readonly Topic[]; settings: ReadonlyMap<string, Actual>; connection: Connection }

/** @returns a fault for each table with records outside partition 0. Records in two partitions have no order. */
async function spreadTables(admin: Admin, { topics, settings, connection }: Spread): Promise<string[]> {
  const grown = topics
    .filter(({ partitions, retention }) => partitions === 1 && typeof retention !== 'number')
    .map(({ name }) => connection.named(name))
    .filter((topic) => (settings.get(topic)?.partitions ?? 1) > 1)
  const faults = grown.map(async (topic) => {
    const bounds = await untilBack(() => admin.fetchTopicOffsets(topic))
    return spread(topic, bounds) ?? []
  })
  return (await Promise.all(faults)).flat()
}

function differences(
  configs: readonly ITopicConfig[],
  settings: ReadonlyMap<string, Actual>,
  fixed: ReadonlySet<string>,
): string[] {
  return configs.flatMap(({ topic, numPartitions, configEntries = [] }) => {
    const { partitions, entries } = settings.get(topic) ?? { partitions: undefined, entries: new Map() }
    const isAsTold = partitions === numPartitions || fixed.has(topic)
    const lines = isAsTold ? [] : [`${topic}: ${partitions} partitions, not ${numPartitions}`]
    for (const { name, value } of configEntries) {
      const actual = entries.get(name)
      if (actual !== value) lines.push(`${topic}: ${name} is ${actual}, not ${value}`)
    }
    return lines
  })
}

export type Retentions = {
  /** @returns in ms, by topic without prefix. Leaves out topics that keep records forever. */
  read(topics: readonly string[]): Promise<Map<string, number>>
  close(): Promise<void>
}

export async function openRetentions({ kafka, named, plain }: Connection): Promise<Retentions> {
  const admin = kafka.admin()
  await admin.connect()
  return {
    async read(topics) {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: topics.map((topic) => ({
          type: ConfigResourceTypes.TOPIC,
          name: named(topic),
          configNames: [RETENTION, POLICY],
        })),
      })
      const retentions = resources.flatMap(({ resourceName, configEntries }) => {
        const entries = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]))
        const ms = Number(entries.get(RETENTION))
        const isForEver = !entries.get(POLICY)?.includes('delete') || ms < 0
        return isForEver ? [] : [[plain(resourceName), ms] as const]
      })
      return new Map(retentions)
    },
    close: () => admin.disconnect(),
  }
}
