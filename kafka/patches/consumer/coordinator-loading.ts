/**
 * Upstream: tulios/kafkajs#1779 (open); `joinAndSync`, `fetch`, `seek`, `commitOffsets` and `heartbeat` in
 * src/consumer/consumerGroup.js, `handleBatch` in src/consumer/runner.js.
 * Without it: after a join that failed for a temporary reason, kafkajs fetches as if it had joined. Its commits are
 * refused and its partitions stall, because nothing makes it join again. If it finds no coordinator for long, or the
 * answer to a join is an unexpected error of the broker, the consumer ends for good. A seek or a batch from before a
 * join skips records that were released in between. A commit that is repeated after a join, or made before the join is
 * reported, counts as one of the new generation: it may set back partitions that another member has by now
 * (docs/decisions/002-client-guards.md). A member that is told to join again first handles all batches of its last
 * fetch, and asks the coordinator after each: with a slow broker, the other members may not wait that long.
 * Until: test/kafka/coordinator-loading.test.ts and test/flow/kafka.consume.test.ts pass without it.
 */
import { internal, prototypeOf } from '../internals.ts'
import { isUnexpected } from './coordinator-moves.ts'

type ConsumerGroup = {
  /** A new one after each join. */
  offsetManager: object | null
  /** Seeks that the next fetch does. */
  seekOffset: Map<string, string>
  joinAndSync(): Promise<void>
  fetch(nodeId: string): Promise<object[]>
  seek(at: object): void
  commitOffsets(offsets?: object): Promise<void>
  heartbeat(options: { interval: number }): Promise<void>
}
type Runner = { consumerGroup: ConsumerGroup; handleBatch(batch: object): Promise<void> }

const { createErrorFromCode } = internal<{ createErrorFromCode(code: number): Error }>('protocol/error')
const { KafkaJSGroupCoordinatorNotFound, KafkaJSProtocolError } = internal<{
  KafkaJSGroupCoordinatorNotFound: new () => Error
  KafkaJSProtocolError: new (error: unknown, options: { retriable: boolean }) => Error
}>('errors')

/** After the first, kafkajs retries; after the second, it rejoins with the same member id. */
const COORDINATOR_NOT_AVAILABLE = 15
const REBALANCE_IN_PROGRESS = 27
/** kafkajs does not repeat a commit that was refused with this. */
const ILLEGAL_GENERATION = 22

/** Groups that are not joined now, with what they had in the last generation. */
const outside = new WeakMap<ConsumerGroup, ConsumerGroup['offsetManager']>()
/** By batch, and by commit, what the member had in the generation that fetched or first sent it. */
const madeIn = new WeakMap<object, ConsumerGroup['offsetManager']>()
/** Members that must join again, with what they had in their last generation, and the coordinator's answer. */
const refused = new WeakMap<ConsumerGroup, Pick<ConsumerGroup, 'offsetManager'> & { error: Error }>()
/** Concurrent fetches share a join: each makes the member join when a topic gets more partitions. */
const joins = new WeakMap<object, Promise<void>>()

/** Also resolves if a join fails, and at once if there is none. */
export const untilJoined = async (member: object): Promise<void> => joins.get(member)?.catch(() => undefined)

/**
 * Outside the group, fetches fail as in a rebalance: kafkajs then joins again. Batches of the previous generation are
 * dropped: they would skip records that were released in between.
 */
export function retryJoins(): void {
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { joinAndSync, fetch, seek, commitOffsets, heartbeat } = member
  member.joinAndSync = function () {
    const join = joins.get(this) ?? joinOnce(this, joinAndSync).finally(() => joins.delete(this))
    joins.set(this, join)
    return join
  }
  member.fetch = async function (nodeId) {
    if (outside.has(this)) throw createErrorFromCode(REBALANCE_IN_PROGRESS)
    const { offsetManager } = this
    const batches = await fetch.call(this, nodeId)
    if (this.offsetManager !== offsetManager || outside.has(this)) return []
    for (const batch of batches) madeIn.set(batch, offsetManager)
    return batches
  }
  member.seek = function (at) {
    // a join starts at the commits; whoever knows better seeks once it has joined
    if (outside.get(this) !== this.offsetManager) seek.call(this, at)
  }
  member.commitOffsets = async function (offsets) {
    const { offsetManager } = this
    // whoever commits before the join is reported does not know the new partitions
    const isUnreported = outside.has(this) && outside.get(this) !== offsetManager
    if (isUnreported || (offsets && isOlder(offsets, this))) throw createErrorFromCode(ILLEGAL_GENERATION)
    if (offsets) madeIn.set(offsets, offsetManager)
    await commitOffsets.call(this, offsets)
  }
  member.heartbeat = async function (options) {
    const { offsetManager } = this
    try {
      await heartbeat.call(this, options)
    } catch (error) {
      if (mustRejoin(error)) refused.set(this, { offsetManager, error })
      throw error
    }
  }
  dropOlderBatches()
}

const REJOIN = new Set(['UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION'])

const mustRejoin = (error: unknown): error is Error =>
  error instanceof Error && 'type' in error && REJOIN.has(String(error.type))

const isOlder = (batchOrCommit: object, { offsetManager }: ConsumerGroup): boolean =>
  madeIn.has(batchOrCommit) && madeIn.get(batchOrCommit) !== offsetManager

/** A fetch from one broker may make the member join while batches of another broker are still queued. */
function dropOlderBatches(): void {
  const runner = prototypeOf<Runner>('consumer/runner')
  const { handleBatch } = runner
  runner.handleBatch = async function (batch) {
    const { consumerGroup } = this
    const refusal = refused.get(consumerGroup)
    if (refusal?.offsetManager === consumerGroup.offsetManager) throw refusal.error
    if (!isOlder(batch, consumerGroup)) await handleBatch.call(this, batch)
  }
}

async function joinOnce(member: ConsumerGroup, joinAndSync: () => Promise<void>): Promise<void> {
  outside.set(member, member.offsetManager)
  member.seekOffset.clear()
  try {
    await joinAndSync.call(member)
  } catch (error) {
    if (error instanceof KafkaJSGroupCoordinatorNotFound) throw createErrorFromCode(COORDINATOR_NOT_AVAILABLE)
    throw isUnexpected(error) ? new KafkaJSProtocolError(error, { retriable: true }) : error
  }
  outside.delete(member)
}
