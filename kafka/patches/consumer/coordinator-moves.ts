/**
 * Upstream: tulios/kafkajs#1779 (open); `heartbeat`, `commitOffsets` and `recoverFromFetch` in
 * src/consumer/consumerGroup.js, `fetch` in src/consumer/runner.js.
 * Without it: a member asks a dead coordinator twenty times. A leader that moves makes the whole group join again. A
 * dead broker ends all fetches. A table seems fresh while its leader is down (docs/decisions/015-cluster.md). An
 * unexpected error of a broker ends the consumer for good, and with it the process.
 * Until: test/kafka/coordinator-moves.test.ts passes without it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { internal, prototypeOf } from '../internals.ts'

type ConsumerGroup = {
  groupId: string
  cluster: {
    refreshMetadata(): Promise<void>
    findGroupCoordinator(of: { groupId: string }): Promise<unknown>
  }
  coordinator: unknown
  offsetManager: { coordinator: unknown } | null
}
type Methods = {
  heartbeat(this: ConsumerGroup, options: { interval: number }): Promise<void>
  commitOffsets(this: ConsumerGroup, offsets?: object): Promise<void>
  recoverFromFetch(this: ConsumerGroup, error: unknown): Promise<void>
}

/** Between two fetches while a broker or leader is down. */
const PAUSE_MS = 100

const following = new WeakSet<ConsumerGroup>()

export function followMoves(): void {
  const member = prototypeOf<Methods>('consumer/consumerGroup')
  const { heartbeat, commitOffsets, recoverFromFetch } = member
  const patched: Methods = {
    async heartbeat(options) {
      if (following.has(this)) return
      try {
        await heartbeat.call(this, options)
      } catch (error) {
        if (!isAway(error) && !isCoordinatedElsewhere(error) && !isUnexpected(error)) throw error
        void followCoordinator(this)
      }
    },
    async commitOffsets(offsets) {
      try {
        await commitOffsets.call(this, offsets)
      } catch (error) {
        if (isAway(error) || isCoordinatedElsewhere(error)) void followCoordinator(this)
        throw error
      }
    },
    async recoverFromFetch(error) {
      if (!isAway(error) && !isLedElsewhere(error) && !isUnexpected(error))
        return recoverFromFetch.call(this, error)
      await this.cluster.refreshMetadata().catch(() => undefined)
      await sleep(PAUSE_MS)
    },
  }
  Object.assign(member, patched)
  countFetchedPartitions()
}

/** Fetches continue meanwhile: they need no coordinator. */
async function followCoordinator(group: ConsumerGroup): Promise<void> {
  if (following.has(group)) return
  following.add(group)
  try {
    const coordinator = await group.cluster.findGroupCoordinator({ groupId: group.groupId })
    group.coordinator = coordinator
    if (group.offsetManager) group.offsetManager.coordinator = coordinator
  } catch {
    // the next heartbeat tries again
  } finally {
    following.delete(group)
  }
}

type Batch = { rawMessages: unknown[] }
type Runner = {
  running: boolean
  consumerGroup: { fetch(nodeId: string): Promise<Batch[]> }
  instrumentationEmitter: { emit(name: string, payload: object): void }
  heartbeat(): Promise<void>
}

/** kafkajs always reports 0 batches. A broker that leads nothing of the topic returns none. */
function countFetchedPartitions(): void {
  const runner = prototypeOf<{ fetch: unknown }>('consumer/runner')
  const { events } = internal<{ events: Record<'FETCH' | 'FETCH_START', string> }>(
    'consumer/instrumentationEvents',
  )
  runner.fetch = async function (this: Runner, nodeId: string): Promise<Batch[]> {
    // new fetchers may start during a stop. With no batches, kafkajs would ask again in the same turn, for ever
    if (!this.running) throw new Error('the consumer stops')
    const start = performance.now()
    this.instrumentationEmitter.emit(events.FETCH_START, { nodeId })
    const batches = await this.consumerGroup.fetch(nodeId)
    const fetched = { numberOfBatches: batches.length, duration: performance.now() - start, nodeId }
    this.instrumentationEmitter.emit(events.FETCH, fetched)
    // kafkajs would queue the empty ones too, a dozen for each topic
    const filled = batches.filter(({ rawMessages }) => rawMessages.length > 0)
    if (filled.length === 0) await this.heartbeat()
    return filled
  }
}

const AWAY = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  // another request holds the lock while it connects
  'KafkaJSLockTimeout',
])
/** Another broker leads the partition, or none does yet. */
const LED_ELSEWHERE = new Set([
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'REPLICA_NOT_AVAILABLE',
  // its disk has failed, but not all disks of its broker
  'KAFKA_STORAGE_ERROR',
])
/** Another broker coordinates the group, or none does yet. */
const COORDINATED_ELSEWHERE = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
])

/** UNKNOWN_SERVER_ERROR in the protocol guide, such as for a file that the broker has just closed. */
const UNEXPECTED = new Set(['UNKNOWN'])

const isType = (types: ReadonlySet<string>, error: unknown) =>
  error instanceof Error && 'type' in error && types.has(String(error.type))

export const isAway = (error: unknown): boolean => error instanceof Error && AWAY.has(error.name)

export const isCoordinatedElsewhere = (error: unknown): boolean => isType(COORDINATED_ELSEWHERE, error)

export const isLedElsewhere = (error: unknown): boolean => isType(LED_ELSEWHERE, error)

export const isUnexpected = (error: unknown): boolean => isType(UNEXPECTED, error)
