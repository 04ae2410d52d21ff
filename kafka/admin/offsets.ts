import { setImmediate as nextTurn } from 'node:timers/promises'
import pRetry from 'p-retry'
import { within } from '../../process/timeout.ts'
import { CLOSE_MS, type Connection } from '../client.ts'
import { type Broker, type Cluster, describe, openCluster } from '../patches/cluster.ts'
import { isCoordinatedElsewhere } from '../patches/consumer/coordinator-moves.ts'
import { AssignerProtocol } from '../patches/kafkajs.ts'
import { type PartitionOffset, partitionKey, type TopicPartition } from '../topic-partition.ts'

/** `offset` null: no commit yet. `metadata`: of the commit (kafka/consume/commits.ts). */
export type Committed = TopicPartition & { offset: number | null; metadata: string }

/** `end`: the offset after the last record. */
export type Bounds = { partition: number; low: number; end: number }

/**
 * Questions asked at once about several topics go in one request. Names have no prefix. Rejects when Kafka does not
 * answer.
 */
export type Offsets = {
  topics(): Promise<string[]>
  /** A group that does not exist has committed nothing. */
  committed(of: { group: string; topics: readonly string[] }): Promise<Committed[]>
  /** @returns by group, its members' partitions (`partitionKey`). */
  owned(groups: readonly string[]): Promise<Map<string, Set<string>>>
  bounds(topic: string): Promise<Bounds[]>
  /** @returns each partition's first offset from this time on (ms since 1970), or its end. */
  at(topic: string, time: number): Promise<PartitionOffset[]>
  close(): Promise<void>
}

export async function openOffsets(connection: Connection): Promise<Offsets> {
  const { named, plain } = connection
  const cluster = await openCluster(connection)
  const coordinators = createCoordinators(cluster)
  const places = createPlaces(cluster)
  return {
    async topics() {
      const names = (await describe(cluster)).topicMetadata.map(({ topic }) => topic)
      return names.filter((name) => name.startsWith(named(''))).map(plain)
    },

    async committed({ group, topics }) {
      const asked = await places.partitions(topics.map(named))
      const groupId = named(group)
      const { responses } = await coordinators.ask(groupId, (broker) =>
        broker.offsetFetch({ groupId, topics: asked }),
      )
      return responses.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset, metadata }) => ({
          topic: plain(topic),
          partition,
          offset: Number(offset) < 0 ? null : Number(offset),
          metadata: metadata ?? '',
        })),
      )
    },

    async owned(groups) {
      const described = await coordinators.describe(groups.map(named))
      return new Map(
        described.map(({ groupId, members }) => [
          plain(groupId),
          new Set(members.flatMap(({ memberAssignment }) => partitionsOf(memberAssignment, plain))),
        ]),
      )
    },

    bounds: (topic) => places.bounds(named(topic)),
    at: (topic, time) => places.at(named(topic), time),
    close: () => within(CLOSE_MS, cluster.disconnect()),
  }
}

function createCoordinators(cluster: Cluster) {
  const known = new Map<string, number>()

  async function coordinatorOf(groupId: string): Promise<Broker> {
    const nodeId = known.get(groupId)
    // this connects again after an outage
    if (nodeId !== undefined) return cluster.findBroker({ nodeId })
    const broker = await cluster.findGroupCoordinator({ groupId })
    known.set(groupId, broker.nodeId)
    return broker
  }

  /** Looks up the coordinator again if it has moved or is loading. */
  const again = <T>(groupIds: readonly string[], question: () => Promise<T>) =>
    pRetry(question, {
      retries: 5,
      minTimeout: 100,
      shouldRetry: ({ error }) => isCoordinatedElsewhere(error),
      onFailedAttempt: () => groupIds.forEach((groupId) => void known.delete(groupId)),
    })

  return {
    ask: <T>(groupId: string, question: (broker: Broker) => Promise<T>) =>
      again([groupId], async () => question(await coordinatorOf(groupId))),

    describe: (groupIds: readonly string[]) =>
      again(groupIds, async () => {
        const found = await Promise.all(
          groupIds.map(async (groupId) => ({ groupId, broker: await coordinatorOf(groupId) })),
        )
        const byBroker = [...Map.groupBy(found, ({ broker }) => broker)]
        const answers = await Promise.all(
          byBroker.map(([broker, of]) =>
            broker.describeGroups({ groupIds: of.map(({ groupId }) => groupId) }),
          ),
        )
        return answers.flatMap(({ groups }) => groups)
      }),
  }
}

/** Topics are named as on the broker. */
function createPlaces(cluster: Cluster) {
  async function partitions(topics: readonly string[]) {
    await cluster.addMultipleTargetTopics(topics)
    await cluster.refreshMetadataIfNecessary()
    return topics.map((topic) => ({
      topic,
      partitions: cluster
        .findTopicPartitionMetadata(topic)
        .map(({ partitionId }) => ({ partition: partitionId })),
    }))
  }

  async function offsets(questions: Parameters<Cluster['fetchTopicsOffset']>[0]) {
    const found = await cluster.fetchTopicsOffset(questions)
    return new Map(found.map(({ topic, partitions }) => [topic, partitions]))
  }

  /** @returns by topic, its ends and the answers to `question`. */
  const endsAnd = (topics: readonly string[], question: (topic: string) => object) =>
    untilKnown(cluster, async () => {
      const asked = await partitions(topics)
      const [ends, others] = await Promise.all([
        offsets(asked),
        offsets(asked.map((each) => ({ ...each, ...question(each.topic) }))),
      ])
      return new Map(topics.map((topic) => [topic, pairs(ends.get(topic), others.get(topic))]))
    })

  const bounds = inOneRequest((asked: ReadonlyMap<string, undefined>) =>
    endsAnd([...asked.keys()], () => ({ fromBeginning: true })),
  )
  const at = inOneRequest((asked: ReadonlyMap<string, number>) =>
    endsAnd([...asked.keys()], (topic) => ({ fromTimestamp: asked.get(topic) })),
  )

  return {
    partitions,
    async bounds(topic: string): Promise<Bounds[]> {
      const found = await bounds(topic, undefined)
      return found.map(({ partition, end, other }) => ({ partition, low: other, end }))
    },
    async at(topic: string, time: number) {
      const found = await at(topic, time)
      return found.map(({ partition, end, other }) => ({ partition, offset: other < 0 ? end : other }))
    },
  }
}

/** A broker may not know a topic that was just created, or may not lead a partition any more. */
const untilKnown = <T>(cluster: Cluster, question: () => Promise<T>): Promise<T> =>
  pRetry(question, {
    retries: 5,
    minTimeout: 100,
    shouldRetry: ({ error }) => 'type' in error && MOVED.has(error.type),
    onFailedAttempt: () => cluster.refreshMetadata().catch(() => undefined),
  })

const MOVED: ReadonlySet<unknown> = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'NOT_LEADER_FOR_PARTITION'])

/** As kafkajs returns it. */
type OffsetText = { partition: number; offset: string }

const pairs = (ends: readonly OffsetText[] = [], others: readonly OffsetText[] = []) =>
  ends.map(({ partition, offset }) => ({
    partition,
    end: Number(offset),
    other: Number(others.find((other) => other.partition === partition)?.offset ?? -1),
  }))

/** Collects a turn's calls about different topics into one `ask`. */
function inOneRequest<Q, A>(
  ask: (questions: ReadonlyMap<string, Q>) => Promise<ReadonlyMap<string, A>>,
): (topic: string, question: Q) => Promise<A> {
  type Request = { questions: Map<string, Q>; answers: Promise<ReadonlyMap<string, A>> }
  let next: Request | undefined

  function begin(): Request {
    const questions = new Map<string, Q>()
    const answers = nextTurn().then(() => {
      if (next === request) next = undefined
      return ask(questions)
    })
    const request = { questions, answers }
    return request
  }

  return async (topic, question) => {
    // a request can name a topic only once
    if (!next || next.questions.has(topic)) next = begin()
    next.questions.set(topic, question)
    const answers = await next.answers
    const answer = answers.get(topic)
    if (!answer) throw new Error(`no offsets of ${topic} were returned`)
    return answer
  }
}

/** None while the group rebalances. */
function partitionsOf(assignment: Buffer, plain: Connection['plain']): string[] {
  const decoded = AssignerProtocol.MemberAssignment.decode(assignment)
  return Object.entries(decoded?.assignment ?? {}).flatMap(([topic, partitions]) =>
    partitions.map((partition) => partitionKey(plain(topic), partition)),
  )
}
