/**
 * Upstream: no issue; `parse` in src/protocol/requests/metadata/v0/response.js, `refreshMetadata` in
 * src/cluster/brokerPool.js, `resolveOffsets` in src/consumer/offsetManager/index.js.
 * Without it: one partition without a leader fails the metadata request for all its topics. Consumers and producers of
 * other partitions stop at their next request, and no process starts.
 * Until: test/kafka/leaderless.test.ts and test/flow/cluster.test.ts pass without it.
 */
import { internal, prototypeOf } from './internals.ts'

type Partition = { partitionErrorCode: number; partitionId: number; leader: number }
type Topic = { topic: string; partitionMetadata: Partition[] }
type Metadata = { topicMetadata: Topic[] }
/** `parse` throws if a topic or a partition has an error. */
type Response = { parse(metadata: Metadata): Promise<Metadata> }
type MetadataProtocol = (choice: {
  version: string
}) => (request: { topics: readonly string[] }) => { request: object; response: Response }

const NONE = 0
const LEADER_NOT_AVAILABLE = 5
/** Time until the leaders are requested again. */
const REFRESH_MS = 1_000

const hasNoLeader = ({ leader }: Pick<Partition, 'leader'>) => leader < 0

export function tolerateLeaderless(): void {
  tolerateInMetadata()
  refreshSoon()
  startWithLeaders()
}

/** A request for all topics ignores all faults: they may be in another program's topic. */
function tolerateInMetadata(): void {
  const definition = internal<{ protocol: MetadataProtocol }>('protocol/requests/metadata')
  const { protocol } = definition
  definition.protocol = (choice) => (asked) => {
    const original = protocol(choice)(asked)
    const { response } = original
    async function parse(metadata: Metadata): Promise<Metadata> {
      if (asked.topics.length > 0) await response.parse(withoutLeaderFaults(metadata))
      return metadata
    }
    return { ...original, response: { ...response, parse } }
  }
}

function withoutLeaderFaults(metadata: Metadata): Metadata {
  const tolerated = (partition: Partition) =>
    partition.partitionErrorCode === LEADER_NOT_AVAILABLE
      ? { ...partition, partitionErrorCode: NONE }
      : partition
  const topicMetadata = metadata.topicMetadata.map((topic) => ({
    ...topic,
    partitionMetadata: topic.partitionMetadata.map(tolerated),
  }))
  return { ...metadata, topicMetadata }
}

type BrokerPool = {
  /** Null after a disconnect. */
  metadata: Metadata | null
  /** Ms since 1970. */
  metadataExpireAt: number
  logger: { error(message: string): void }
  refreshMetadata(topics: readonly string[]): Promise<void>
}

/** By default, kafkajs notices a new leader after minutes: it neither sends nor fetches, so it gets no error. */
function refreshSoon(): void {
  const pool = prototypeOf<BrokerPool>('cluster/brokerPool')
  const { refreshMetadata } = pool
  pool.refreshMetadata = async function (topics) {
    await refreshMetadata.call(this, topics)
    const { topicMetadata } = this.metadata ?? { topicMetadata: [] }
    const leaderless = topicMetadata.flatMap(({ topic, partitionMetadata }) => {
      const partitions = topics.includes(topic) ? partitionMetadata.filter(hasNoLeader) : []
      return partitions.length > 0 ? `${topic} ${partitions.map(({ partitionId }) => partitionId)}` : []
    })
    if (leaderless.length === 0) return
    this.metadataExpireAt = Math.min(this.metadataExpireAt, Date.now() + REFRESH_MS)
    this.logger.error(`partitions have no leader, and their records wait: ${leaderless.join('; ')}`)
  }
}

type OffsetManager = {
  cluster: { findTopicPartitionMetadata(topic: string): Partition[] }
  memberAssignment: Record<string, number[]>
  resolveOffsets(): Promise<void>
}

/** For a partition without a commit, its leader names the first offset. Other partitions must not wait for it. */
function startWithLeaders(): void {
  const manager = prototypeOf<OffsetManager>('consumer/offsetManager')
  const { resolveOffsets } = manager
  manager.resolveOffsets = function () {
    const ledOnly = Object.entries(this.memberAssignment).map(([topic, partitions]) => {
      const metadata = this.cluster.findTopicPartitionMetadata(topic)
      const leaderless = new Set(metadata.filter(hasNoLeader).map(({ partitionId }) => partitionId))
      return [topic, partitions.filter((partition) => !leaderless.has(partition))]
    })
    return resolveOffsets.call(
      Object.create(this, { memberAssignment: { value: Object.fromEntries(ledOnly) } }),
    )
  }
}
