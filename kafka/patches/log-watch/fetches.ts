/**
 * Upstream: tulios/kafkajs#818 (open: KIP-320), #1119 (closed); `fetch`, `recoverFromFetch` and
 * `recoverFromOffsetOutOfRange` in src/consumer/consumerGroup.js, `fetch` in src/broker/index.js, `handleBatch` in
 * src/consumer/runner.js.
 * Without it: if its offset is out of range, kafkajs restarts at the beginning of the topic. Once the offset is in
 * range again, it does not notice that the log was cut, and skips new records (docs/decisions/019-log-watch.md).
 * Until: test/kafka/log-watch.consumer.test.ts and test/flow/kafka.log-loss.test.ts pass without it.
 */
import { isAway, isLedElsewhere } from '../consumer/coordinator-moves.ts'
import { prototypeOf } from '../internals.ts'
import type { Broker } from './requests.ts'

export type Cluster = {
  brokerPool: { withBroker<T>(ask: (of: { broker: Broker }) => Promise<T>): Promise<T | null> }
  findBroker(of: { nodeId: number | string }): Promise<Broker>
  refreshMetadata(): Promise<void>
  fetchTopicsOffset(
    topics: {
      topic: string
      partitions: { partition: number }[]
      fromBeginning?: boolean
      fromTimestamp?: number
    }[],
  ): Promise<{ partitions: { offset: string }[] }[]>
}
export type ConsumerGroup = {
  cluster: Cluster
  assigned(): { topic: string; partitions: number[] }[]
  fetch(nodeId: string): Promise<Batch[]>
  recoverFromFetch(error: unknown): Promise<void>
  recoverFromOffsetOutOfRange(error: Batch): Promise<void>
}
type Batch = { topic: string; partition: number }
type Fetch = { topics: { topic: string; partitions: { partition: number; currentLeaderEpoch?: number }[] }[] }

export type FetchWatch = {
  beforeFetch(member: ConsumerGroup): Promise<void>
  epochOf(topic: string, partition: number): number
  recheckSoon(): void
  outOfRange(topic: string, partition: number): Promise<void>
  moves(): number
  movedSince(move: number, batch: Batch): boolean
}

/** Each consumer has its own cluster object. */
const watches = new WeakMap<Cluster, FetchWatch>()
const watchOf = new WeakMap<Broker, FetchWatch>()
const fetched = new WeakMap<Batch, { watch: FetchWatch; move: number }>()

export const register = (cluster: Cluster, watch: FetchWatch): void => void watches.set(cluster, watch)

type Hooks = Pick<ConsumerGroup, 'fetch' | 'recoverFromFetch' | 'recoverFromOffsetOutOfRange'>

/** Nothing is read from a log before it is compared with the one that was read. */
export function watchFetches(): void {
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { fetch, recoverFromFetch, recoverFromOffsetOutOfRange } = member
  const hooks: Hooks & ThisType<ConsumerGroup> = {
    async fetch(nodeId) {
      const watch = watches.get(this.cluster)
      if (!watch) return fetch.call(this, nodeId)
      try {
        await watch.beforeFetch(this)
        watchOf.set(await this.cluster.findBroker({ nodeId }), watch)
      } catch (error) {
        if (!isAway(error) && !isLedElsewhere(error)) throw error
        await this.recoverFromFetch(error)
        return []
      }
      const move = watch.moves()
      const batches = await fetch.call(this, nodeId)
      for (const batch of batches) fetched.set(batch, { watch, move })
      return batches.filter((batch) => !watch.movedSince(move, batch))
    },
    async recoverFromFetch(error) {
      watches.get(this.cluster)?.recheckSoon()
      return recoverFromFetch.call(this, error)
    },
    async recoverFromOffsetOutOfRange(error) {
      const watch = watches.get(this.cluster)
      if (!watch) return recoverFromOffsetOutOfRange.call(this, error)
      await watch.outOfRange(error.topic, error.partition).catch((failed) => {
        if (!isAway(failed) && !isLedElsewhere(failed)) throw failed
      })
    },
  }
  Object.assign(member, hooks)
  nameEpochInFetches()
  dropMovedBatches()
}

/** A broker refuses a fetch that names another leader epoch than its own. */
function nameEpochInFetches(): void {
  const broker = prototypeOf<Broker & { fetch(request: Fetch): Promise<unknown> }>('broker')
  const { fetch } = broker
  broker.fetch = function (request) {
    const watch = watchOf.get(this)
    if (!watch) return fetch.call(this, request)
    const topics = request.topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map((of) => ({ ...of, currentLeaderEpoch: watch.epochOf(topic, of.partition) })),
    }))
    return fetch.call(this, { ...request, topics })
  }
}

/** A batch may be queued while its partition is moved. */
function dropMovedBatches(): void {
  const runner = prototypeOf<{ handleBatch(batch: Batch): Promise<void> }>('consumer/runner')
  const { handleBatch } = runner
  runner.handleBatch = async function (batch) {
    const from = fetched.get(batch)
    if (from?.watch.movedSince(from.move, batch)) return
    await handleBatch.call(this, batch)
  }
}
