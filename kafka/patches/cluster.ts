/**
 * Upstream: no issue. src/index.js keeps the cluster private. src/admin/index.js asks about one topic at a time, and
 * looks up a group's coordinator each time.
 * Without it: an idle control requests offsets and coordinators 19 times a second, not 4.
 * Until: kafkajs's admin client takes several topics in one request; test/kafka/offsets.test.ts.
 */
import type { Connection } from '../client.ts'

/** Topics and groups are named as on the broker. */
export type Cluster = {
  connect(): Promise<void>
  disconnect(): Promise<void>
  /** @param of no topics: all. @returns null if no broker answers; see `describe`. */
  metadata(of: { topics: string[] }): Promise<Description | null>
  findBroker(of: { nodeId: number }): Promise<Broker>
  /** Learns the leaders of new topics. */
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>
  refreshMetadata(): Promise<void>
  refreshMetadataIfNecessary(): Promise<void>
  findTopicPartitionMetadata(topic: string): { partitionId: number }[]
  /** @param of names each topic at most once. */
  fetchTopicsOffset(of: OffsetQuestion[]): Promise<OffsetAnswer[]>
  findGroupCoordinator(of: { groupId: string }): Promise<Broker>
}

type Description = {
  brokers: readonly { nodeId: number }[]
  topicMetadata: readonly { topic: string }[]
}

type OffsetQuestion = {
  topic: string
  partitions: { partition: number }[]
  fromBeginning?: boolean
  /** ms since 1970; the offset is -1 if all records are older. */
  fromTimestamp?: number
}
type OffsetAnswer = { topic: string; partitions: { partition: number; offset: string }[] }

export type Broker = {
  nodeId: number
  versions: Readonly<Record<number, { maxVersion: number }>>
  connectionPool: { send(protocol: object): Promise<unknown> }
  offsetFetch(of: {
    groupId: string
    topics: { topic: string; partitions: { partition: number }[] }[]
  }): Promise<{ responses: CommittedOffsets[] }>
  /** Only for groups that this broker coordinates. */
  describeGroups(of: { groupIds: string[] }): Promise<{
    groups: { groupId: string; members: { memberAssignment: Buffer }[] }[]
  }>
}

type CommittedOffsets = {
  topic: string
  partitions: { partition: number; offset: string; metadata: string | null }[]
}

/** By default, kafkajs asks for the leaders before each request. */
const METADATA_MAX_AGE_MS = 10_000

/** The caller disconnects it. */
export async function openCluster({ kafka }: Pick<Connection, 'kafka'>): Promise<Cluster> {
  const create = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  const options = { allowAutoTopicCreation: false, metadataMaxAge: METADATA_MAX_AGE_MS }
  // a private method of the pinned version
  const cluster = (kafka as unknown as Record<symbol, (of: object) => Cluster>)[create ?? Symbol()]?.(options)
  if (!cluster) throw new Error('kafkajs has no private method that creates a cluster')
  await cluster.connect()
  return cluster
}

/** @throws if no broker answers. */
export async function describe(cluster: Pick<Cluster, 'metadata'>): Promise<Description> {
  const found = await cluster.metadata({ topics: [] })
  if (!found) throw new Error('no broker describes its topics')
  return found
}
