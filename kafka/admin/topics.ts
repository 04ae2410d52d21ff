import type { ITopicConfig } from 'kafkajs'
import pRetry from 'p-retry'
import type { Connection, KafkaConfig } from '../client.ts'
import { ConfigResourceTypes } from '../patches/kafkajs.ts'
import { asConfigError, settingsOf } from './failures.ts'

/** A topic to create; the name is without prefix. */
export type Topic = {
  name: string
  /** `many`: as many as PARTITIONS says. */
  partitions: 'many' | 1
  /** How long records are kept, in milliseconds; or `compact`: the last of each key, for ever or for so long. */
  kept: number | 'compact' | { compact: number }
  /** Records may have to wait for so long, in milliseconds: kept for less, some would be deleted unread. */
  needed?: number
}

/**
 * `differences`: how topics that exist differ from the table, one line each. `losing`: by which of these Kafka deletes records that are
 * still needed, and how to mend that. `brokers`: how many the cluster has.
 */
export type Found = { differences: string[]; losing: string[]; brokers: number }

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
    const settings = await settingsOfTopics(admin, existed)
    const losing = topics.flatMap(({ name, kept, needed }) => {
      const topic = connection.named(name)
      const entries = settings.get(topic)?.entries
      return [
        ...(wrongPolicy(topic, entries?.get(POLICY), kept) ?? []),
        ...(tooShort(topic, entries?.get(RETENTION), needed) ?? []),
      ]
    })
    return {
      differences: differences(existed, settings),
      losing,
      brokers: brokers.length,
    }
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

const RETENTION = 'retention.ms'
const POLICY = 'cleanup.policy'

function retention(kept: Topic['kept']): { name: string; value: string }[] {
  if (kept === 'compact') return [{ name: POLICY, value: 'compact' }]
  const [policy, ms] = typeof kept === 'number' ? ['delete', kept] : ['compact,delete', kept.compact]
  const age = { name: RETENTION, value: String(ms) }
  return [{ name: POLICY, value: policy }, age, ...(ms > 0 ? UNREAD : [])]
}

/**
 * Against the loss of what nobody has read yet. Deleted by size would be the oldest, read or not. And a record has the time of its
 * writer's clock, by which it is deleted: of one that is days behind it would be gone before it is due. As with a clock that is
 * ahead, for which this is Kafka's own default, the broker refuses it, and it is sent again until the clock is right.
 */
const UNREAD = [
  { name: 'retention.bytes', value: '-1' },
  { name: 'message.timestamp.before.max.ms', value: String(3_600_000) },
]

/** To within a tenth. */
const hours = (ms: number) => `${Math.round(ms / 360_000) / 10}h`

/** @param actual as Kafka has it, in ms; -1: for ever. @returns what is wrong with it, and how to mend that. */
export function tooShort(
  topic: string,
  actual: string | undefined,
  needed: number | undefined,
): [string] | undefined {
  const kept = Number(actual)
  if (actual === undefined || needed === undefined || kept < 0 || kept >= needed) return undefined
  return [
    `RETRY_WINDOW: topic ${topic} keeps records for ${hours(kept)} (retention.ms=${kept}), and deliveries may wait for ${hours(needed)}: the retry window, and a day for outages. ` +
      `Raise it: ${alter(topic, `retention.ms=${needed}`)}`,
  ]
}

/**
 * Of what is read once, compaction would delete all but the last record of a key, read or not; of settings, which are kept as long as they
 * are in force, retention would delete those that are old.
 * @param actual `cleanup.policy` as Kafka has it. @returns what is wrong with it, and how to mend that.
 */
export function wrongPolicy(
  topic: string,
  actual: string | undefined,
  kept: Topic['kept'],
): [string] | undefined {
  const mend = (policy: string) => `Mend it: ${alter(topic, `cleanup.policy=${policy}`)}`
  if (typeof kept === 'number' && actual?.includes('compact'))
    return [
      `Kafka: topic ${topic} is compacted (cleanup.policy=${actual}), by which all but the last record of a key are deleted. ${mend('delete')}`,
    ]
  if (kept === 'compact' && actual?.includes('delete'))
    return [
      `Kafka: topic ${topic} deletes old records (cleanup.policy=${actual}), and they are still in force. ${mend('compact')}`,
    ]
  return undefined
}

const alter = (topic: string, setting: string) =>
  `kafka-configs --bootstrap-server ... --alter --entity-type topics --entity-name ${topic} --add-config ${setting}`

type Admin = ReturnType<Connection['kafka']['admin']>
/** Of a topic as Kafka has it. */
type Actual = { partitions: number | undefined; entries: ReadonlyMap<string, string> }

async function settingsOfTopics(
  admin: Admin,
  wanted: readonly ITopicConfig[],
): Promise<ReadonlyMap<string, Actual>> {
  if (wanted.length === 0) return new Map()
  const { topics } = await admin.fetchTopicMetadata({ topics: wanted.map(({ topic }) => topic) })
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: wanted.map(({ topic }) => ({ type: ConfigResourceTypes.TOPIC, name: topic })),
  })
  return new Map(
    wanted.map(({ topic }) => {
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

function differences(wanted: readonly ITopicConfig[], settings: ReadonlyMap<string, Actual>): string[] {
  return wanted.flatMap(({ topic, numPartitions, configEntries = [] }) => {
    const { partitions, entries } = settings.get(topic) ?? { partitions: undefined, entries: new Map() }
    const lines =
      partitions === numPartitions ? [] : [`${topic}: ${partitions} partitions, not ${numPartitions}`]
    for (const { name, value } of configEntries) {
      const actual = entries.get(name)
      if (actual !== value) lines.push(`${topic}: ${name} is ${actual}, not ${value}`)
    }
    return lines
  })
}

export type Retentions = {
  /** @returns by topic without prefix for how long records are kept, in ms; those that are kept for ever are not in it. */
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
      const kept = resources.flatMap(({ resourceName, configEntries }) => {
        const entries = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]))
        const ms = Number(entries.get(RETENTION))
        const isKept = !entries.get(POLICY)?.includes('delete') || ms < 0
        return isKept ? [] : [[plain(resourceName), ms] as const]
      })
      return new Map(kept)
    },
    close: () => admin.disconnect(),
  }
}
