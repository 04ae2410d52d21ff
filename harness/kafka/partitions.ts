import type { Connection } from '../../kafka/client.ts'
import { ConfigResourceTypes, ConfigSource } from '../../kafka/patches/kafkajs.ts'
import type { Cluster } from '../../local/kafka/broker.ts'
import { until } from '../until.ts'
import type { Admin } from './topics.ts'

export type Brokers = {
  /** How many partitions each broker leads, by its index, not its id. */
  leads(): Promise<number[]>
  /** Resolves when all replicas are in sync. */
  inSync(): Promise<void>
  /**
   * Moves a topic to these brokers (ids). Any one of them then takes writes and can lead, in sync or not. @returns a
   * function that undoes it
   */
  weaken(topic: string, replicas: readonly number[]): Promise<() => Promise<void>>
  /** Resolves when this broker (id) leads the whole topic. */
  ledBy(topic: string, broker: number): Promise<void>
  close(): Promise<void>
}

const SYNC_MS = 120_000

export async function watchBrokers(
  { kafka }: Pick<Connection, 'kafka'>,
  { nodes }: Pick<Cluster, 'nodes'>,
): Promise<Brokers> {
  const admin = kafka.admin()
  await admin.connect()
  const { partitions, ofTopic, place, settings } = topicsOf(admin)
  return {
    async leads() {
      const led = await partitions()
      return nodes.map((_, index) => led.filter(({ leader }) => leader === index + 1).length)
    },
    async inSync() {
      const isWhole = async () =>
        (await partitions()).every(({ isr, replicas }) => isr.length === replicas.length)
      await until(isWhole, { timeout: SYNC_MS, message: 'each partition has its copies in sync' })
    },
    async weaken(topic, replicas) {
      const before = await ofTopic(topic)
      const topicSettings = await settings(topic)
      const isOn = async () => (await ofTopic(topic)).every(({ isr }) => isr.length === replicas.length)
      await place(
        topic,
        before.map(({ partitionId }) => ({ partition: partitionId, replicas: [...replicas] })),
      )
      await until(isOn, { timeout: SYNC_MS, message: 'the topic has moved' })
      const weak = { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' }
      await configureTopics(admin, [topic], { ...topicSettings, ...weak })
      return async () => {
        await configureTopics(admin, [topic], topicSettings)
        await place(
          topic,
          before.map(({ partitionId, replicas }) => ({ partition: partitionId, replicas })),
        )
        const isBack = async () =>
          (await ofTopic(topic)).every(({ isr }, index) => isr.length === before[index]?.replicas.length)
        await until(isBack, { timeout: SYNC_MS, message: 'the topic has moved back' })
      }
    },
    async ledBy(topic, broker) {
      const isLed = async () => (await ofTopic(topic)).every(({ leader }) => leader === broker)
      await until(isLed, { timeout: SYNC_MS, message: `broker ${broker} leads ${topic}` })
    },
    close: () => admin.disconnect(),
  }
}

function topicsOf(admin: Admin) {
  return {
    async partitions() {
      const { topics } = await admin.fetchTopicMetadata()
      return topics.flatMap((topic) => topic.partitions)
    },
    async ofTopic(topic: string) {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      return (topics[0]?.partitions ?? []).toSorted((one, other) => one.partitionId - other.partitionId)
    },
    place: (topic: string, partitionAssignment: { partition: number; replicas: number[] }[]) =>
      admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] }),
    /** Without defaults. */
    async settings(topic: string): Promise<Record<string, string>> {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
      })
      const set = (resources[0]?.configEntries ?? []).filter(
        ({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG,
      )
      return Object.fromEntries(set.map(({ configName, configValue }) => [configName, configValue]))
    },
  }
}

/** Replaces all their settings. `topics`: as named on the broker. */
export async function configureTopics(
  admin: Admin,
  topics: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }))
  const resources = topics.map((name) => ({ type: ConfigResourceTypes.TOPIC, name, configEntries }))
  await admin.alterConfigs({ validateOnly: false, resources })
}
