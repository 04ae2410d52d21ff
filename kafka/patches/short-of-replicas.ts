/**
 * Upstream: no issue; `parse` in src/protocol/requests/produce/v3/response.js, src/producer/sendMessages.js.
 * Without it: a partition with fewer in-sync replicas than `min.insync.replicas` fails the send for all partitions.
 * kafkajs repeats the send until there are enough, and everything else waits.
 * Until: test/kafka/short-of-replicas.test.ts passes without it.
 */
import type { ProduceRequest } from '../protocol/encode-produce.ts'
import { internal, prototypeOf, replaceInternal } from './internals.ts'

type Partition = { partition: number; errorCode: number }
type Answer = { topics: { topicName: string; partitions: Partition[] }[] }
/** `parse` throws if any partition has an error. */
type Response = { parse(answer: Answer): Promise<Answer> }
type Protocol = (choice: {
  version: string
}) => (request: ProduceRequest) => { request: object; response: Response }

/** Counts sequence numbers. Each producer has its own manager, cluster and brokers. */
type Manager = { updateSequence(topic: string, partition: number, increment: number): void }
type Broker = { produce(request: ProduceRequest): Promise<Answer | undefined> }
type Cluster = { findBroker(of: object): Promise<Broker> }
type CreateManager = (options: { cluster: Cluster }) => Manager

const NONE = 0
/** This try has written nothing. Another code means "written, but not replicated". */
const NOT_ENOUGH_REPLICAS = 19
const NO_PRODUCER_ID = '-1'

const isShort = ({ errorCode }: Partition) => errorCode === NOT_ENOUGH_REPLICAS

const managers = new WeakMap<Broker, Manager>()

// before kafkajs loads producer/index.js
replaceInternal<CreateManager>('producer/eosManager', (original) => (options) => {
  const manager = original(options)
  const { cluster } = options
  const { findBroker } = cluster
  cluster.findBroker = async (of) => {
    const broker = await findBroker.call(cluster, of)
    managers.set(broker, manager)
    return broker
  }
  return manager
})

/** Only for idempotent producers without transactions: `kafka/produce/send.ts` looks at each partition's error. */
export function tolerateShortOfReplicas(): void {
  tolerateInAnswers()
  const broker = prototypeOf<Broker>('broker')
  const { produce } = broker
  broker.produce = async function (request) {
    const answer = await produce.call(this, request)
    for (const { topicName, partitions } of answer?.topics ?? [])
      for (const { partition } of partitions.filter(isShort))
        managers.get(this)?.updateSequence(topicName, partition, -countOf(request, topicName, partition))
    return answer
  }
}

/** The sequence numbers of these records were not used. */
function countOf({ topicData }: ProduceRequest, topic: string, partition: number): number {
  const partitions = topicData.filter((each) => each.topic === topic).flatMap((each) => each.partitions)
  return partitions.find((each) => each.partition === partition)?.messages.length ?? 0
}

function tolerateInAnswers(): void {
  const definition = internal<{ protocol: Protocol }>('protocol/requests/produce')
  const { protocol } = definition
  definition.protocol = (choice) => (produce) => {
    const original = protocol(choice)(produce)
    if (produce.transactionalId || produce.producerId.toString() === NO_PRODUCER_ID) return original
    const { response } = original
    async function parse(answer: Answer): Promise<Answer> {
      await response.parse(withoutShortage(answer))
      return answer
    }
    return { ...original, response: { ...response, parse } }
  }
}

function withoutShortage({ topics, ...answer }: Answer): Answer {
  const tolerated = (partition: Partition) =>
    isShort(partition) ? { ...partition, errorCode: NONE } : partition
  return {
    ...answer,
    topics: topics.map((topic) => ({ ...topic, partitions: topic.partitions.map(tolerated) })),
  }
}
