/**
 * Upstream: no issue; `parse` in src/protocol/requests/produce/v3/response.js.
 * Without it: a partition with fewer in-sync replicas than `min.insync.replicas` fails the send for all partitions.
 * kafkajs repeats the send until there are enough, and everything else waits.
 * Until: test/kafka/short-of-replicas.test.ts passes without it.
 */
import type { ProduceRequest } from '../protocol/encode-produce.ts'
import { internal } from './internals.ts'

type Partition = { partition: number; errorCode: number }
type Answer = { topics: { topicName: string; partitions: Partition[] }[] }
/** `parse` throws if a partition has an error. */
type Response = { parse(answer: Answer): Promise<Answer> }
type Protocol = (choice: {
  version: string
}) => (request: ProduceRequest) => { request: object; response: Response }

const NONE = 0
/** The records are not written. The code for "written, but not replicated" is another one. */
const NOT_ENOUGH_REPLICAS = 19
const NO_PRODUCER_ID = '-1'

/** Only for idempotent producers without transactions: `kafka/produce/send.ts` looks at each partition's error. */
export function tolerateShortOfReplicas(): void {
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
    partition.errorCode === NOT_ENOUGH_REPLICAS ? { ...partition, errorCode: NONE } : partition
  return {
    ...answer,
    topics: topics.map((topic) => ({ ...topic, partitions: topic.partitions.map(tolerated) })),
  }
}
