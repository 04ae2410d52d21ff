import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'

const require = createRequire(import.meta.url)

/** What kafkajs has of a member of a group; the version is pinned, and tests hold this against it. */
type Group = {
  groupId: string
  cluster: {
    refreshMetadata(): Promise<void>
    findGroupCoordinator(of: { groupId: string }): Promise<unknown>
  }
  coordinator: unknown
  offsetManager: { coordinator: unknown } | null
}
type Methods = {
  heartbeat(this: Group, options: { interval: number }): Promise<void>
  commitOffsets(this: Group, offsets: unknown): Promise<void>
  recoverFromFetch(this: Group, error: unknown): Promise<void>
}
type Runner = {
  running: boolean
  consumerGroup: { fetch(nodeId: string): Promise<unknown[]> }
  instrumentationEmitter: { emit(name: string, payload: object): void }
  heartbeat(): Promise<void>
}

/** Between two tries of a broker that is away, or of a partition whose leader is. */
const BREATH_MS = 100

/** A broker is not there, or does not answer. */
const AWAY = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  // others wait for the connection too
  'KafkaJSLockTimeout',
])
/** It answers that another leads the partition, or that nobody does yet. */
const LED_ELSEWHERE = new Set([
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'REPLICA_NOT_AVAILABLE',
])
/** It answers that another coordinates the group, or that it does not know the group yet. */
const COORDINATED_ELSEWHERE = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
])

/** Whether a broker did not answer. */
export const isAway = (error: unknown): boolean => error instanceof Error && AWAY.has(error.name)
const isOf = (types: ReadonlySet<string>, error: unknown) =>
  error instanceof Error && 'type' in error && types.has(String(error.type))

/** Whether a broker has answered that it does not lead the partition, or under another epoch. */
export const isLedElsewhere = (error: unknown): boolean => isOf(LED_ELSEWHERE, error)

const following = new WeakSet<Group>()

/** Finds the coordinator anew, beside the fetches, which do not need it. What fails is asked again with the next heartbeat. */
async function follow(group: Group): Promise<void> {
  if (following.has(group)) return
  following.add(group)
  try {
    const coordinator = await group.cluster.findGroupCoordinator({ groupId: group.groupId })
    group.coordinator = coordinator
    if (group.offsetManager) group.offsetManager.coordinator = coordinator
  } catch {
    // the next heartbeat asks again
  } finally {
    following.delete(group)
  }
}

/**
 * Members of a group follow what moves from one broker to another, and stay members. Left to itself kafkajs goes on asking a coordinator
 * that is gone until it has failed twenty times; has the whole group join again for each leader that moves; and ends the fetches from all
 * brokers when one of them is away (decision 15). For all of its consumers in this process.
 */
export function followMoves(): void {
  const group: { prototype: Methods } = require('kafkajs/src/consumer/consumerGroup')
  const { heartbeat, commitOffsets, recoverFromFetch } = group.prototype
  const guarded: Methods = {
    async heartbeat(options) {
      if (following.has(this)) return
      try {
        await heartbeat.call(this, options)
      } catch (error) {
        if (!isAway(error) && !isOf(COORDINATED_ELSEWHERE, error)) throw error
        void follow(this)
      }
    },
    async commitOffsets(offsets) {
      try {
        await commitOffsets.call(this, offsets)
      } catch (error) {
        if (isAway(error) || isOf(COORDINATED_ELSEWHERE, error)) void follow(this)
        throw error
      }
    },
    async recoverFromFetch(error) {
      if (!isAway(error) && !isLedElsewhere(error)) return recoverFromFetch.call(this, error)
      await this.cluster.refreshMetadata().catch(() => undefined)
      await sleep(BREATH_MS)
    },
  }
  Object.assign(group.prototype, guarded)
  countBatches()
}

/**
 * FETCH says how many partitions have answered, which kafkajs leaves at 0: a broker that leads nothing of the topic, or did not answer, gives
 * none, and who follows a topic must not take that for news of it.
 */
function countBatches(): void {
  const runner: { prototype: { fetch: unknown } } = require('kafkajs/src/consumer/runner')
  const { events } = require('kafkajs/src/consumer/instrumentationEvents')
  runner.prototype.fetch = async function (this: Runner, nodeId: string): Promise<unknown[]> {
    if (!this.running) return []
    const start = performance.now()
    this.instrumentationEmitter.emit(events.FETCH_START, { nodeId })
    const batches = await this.consumerGroup.fetch(nodeId)
    const fetched = { numberOfBatches: batches.length, duration: performance.now() - start, nodeId }
    this.instrumentationEmitter.emit(events.FETCH, fetched)
    if (batches.length === 0) await this.heartbeat()
    return batches
  }
}
