/**
 * Upstream: no issue; `parse` in src/protocol/requests/fetch/v0/response.js, `fetch` in src/broker/index.js.
 * Without it: if a broker cannot read one partition, for example because its disk is damaged, every fetch from that
 * broker fails. So all other partitions that it leads wait too.
 * Until: test/kafka/unreadable.test.ts and test/flow/kafka.compression.test.ts pass without it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { partitionKey } from '../../topic-partition.ts'
import { internal, prototypeOf } from '../internals.ts'

type Partition = { partition: number; errorCode: number }
/** `unreadable`: partitions that are left out of `responses`, by `partitionKey`. */
type Answer = { responses: { topicName: string; partitions: Partition[] }[]; unreadable?: string[] }
/** `parse` throws if any partition has an error. */
type Response = { parse(answer: Answer): Promise<Answer> }
type Protocol = (choice: { version: string }) => (request: object) => { response: Response }

type Fetch = { topics: { topic: string; partitions: { partition: number }[] }[] }
type Broker = { logger: { error(message: string): void }; fetch(request: Fetch): Promise<Answer> }

/** CORRUPT_MESSAGE, and UNKNOWN_SERVER_ERROR for errors without a code. */
const UNREADABLE = new Set([2, -1])
const isUnreadable = ({ errorCode }: Partition) => UNREADABLE.has(errorCode)

/** Time between tries of a partition. The broker answers at once, so more tries would keep both busy. */
const RETRY_MS = 1_000
/** While there is nothing else to fetch. */
const PAUSE_MS = 100

export function fetchAroundUnreadable(): void {
  tolerateInAnswers()
  const broker = prototypeOf<Broker>('broker')
  const { fetch } = broker
  /** When to try partitions again, by broker. */
  const retries = new WeakMap<Broker, Map<string, number>>()
  broker.fetch = async function (request) {
    const waiting = retries.get(this)
    const topics = waiting ? withoutWaiting(request, waiting) : request.topics
    if (topics.length === 0) {
      await sleep(PAUSE_MS)
      return { responses: [] }
    }
    const answer = await fetch.call(this, { ...request, topics })
    if (!answer.unreadable) return answer
    const retryAt = performance.now() + RETRY_MS
    const again = new Map([...(waiting ?? []), ...answer.unreadable.map((name) => [name, retryAt] as const)])
    retries.set(this, again)
    this.logger.error(`the broker cannot read these partitions, and they wait: ${[...again.keys()]}`)
    return answer
  }
}

/** Partitions that are due for another try are included, and leave `waiting`. */
function withoutWaiting({ topics }: Fetch, waiting: Map<string, number>): Fetch['topics'] {
  const now = performance.now()
  for (const [name, retryAt] of waiting) if (retryAt <= now) waiting.delete(name)
  return topics
    .map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.filter(({ partition }) => !waiting.has(partitionKey(topic, partition))),
    }))
    .filter(({ partitions }) => partitions.length > 0)
}

function tolerateInAnswers(): void {
  const definition = internal<{ protocol: Protocol }>('protocol/requests/fetch')
  const { protocol } = definition
  definition.protocol = (choice) => (asked) => {
    const original = protocol(choice)(asked)
    const { response } = original
    async function parse(answer: Answer): Promise<Answer> {
      const unreadable = answer.responses.flatMap(({ topicName, partitions }) =>
        partitions.filter(isUnreadable).map(({ partition }) => partitionKey(topicName, partition)),
      )
      if (unreadable.length === 0) return response.parse(answer)
      const responses = answer.responses.map((topic) => ({
        ...topic,
        partitions: topic.partitions.filter((partition) => !isUnreadable(partition)),
      }))
      return { ...(await response.parse({ ...answer, responses })), unreadable }
    }
    return { ...original, response: { ...response, parse } }
  }
}
