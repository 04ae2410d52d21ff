import { randomUUID } from 'node:crypto'
import type { Admin, Consumer, ConsumerConfig, EachBatchPayload } from 'kafkajs'
import pRetry from 'p-retry'
import { within } from '../../process/timeout.ts'
import { untilBack } from '../admin/failures.ts'
import { createFaultReporter } from '../admin/lost-records.ts'
import { CLOSE_MS, CONSUMER_RETRIES, type Connection } from '../client.ts'
import type { Message } from '../consume/record.ts'
import type { LogFault } from '../log-faults.ts'
import { countSkippedBatch } from '../metrics.ts'
import { IDLE_WAIT_MS } from '../patches/consumer/fetch-wait.ts'
import { PartitionAssigners } from '../patches/kafkajs.ts'
import { type LogWatch, watchLog } from '../patches/log-watch/watch.ts'
import { type BatchFault, batchFaultOf } from '../protocol/decode-batches.ts'
import { partitionKey, type TopicPartition } from '../topic-partition.ts'
import { type BoundsOf, boundsOf } from './ranges.ts'

export type FollowerOptions = {
  connection: Connection
  /** In the group's name and in reports of lost records. A table starts at the beginning. */
  kind: 'table' | 'tail' | 'reader'
  topics: readonly string[]
  config: Pick<ConsumerConfig, 'maxWaitTimeInMs' | 'sessionTimeout' | 'heartbeatInterval'>
  /** Called in order, from the position on. Must not throw. */
  onRecord: (message: Message, at: TopicPartition & { offset: number }) => void
  /** Called after each batch, and after a fault of the log. */
  onMoved?: (at: TopicPartition) => void
  /** Reading continues at `fault.to`. */
  onFault?: (fault: LogFault) => void
  onJoined?: (assigned: readonly TopicPartition[]) => void
  onSkipped?: ((fault: BatchFault) => void) | undefined
  onFatal: (error: Error) => void
  /** Whether to read a batch. If given, the caller sets positions, and removed records are no loss. */
  accepts?: (at: TopicPartition, isStale: () => boolean) => boolean
}

/** `topic`: without prefix. */

/** Commits nothing and keeps its positions in memory, across rebalances. Closing it deletes its group. */
export class Follower {
  /** A broker last answered a fetch at this time or before it, by `performance.now()`; 0: not yet. */
  fetchedAt = 0
  /** When records last came, by that clock. */
  receivedAt = Number.NEGATIVE_INFINITY
  readonly groupId: string
  /** The next offsets to read, by `partitionKey` without prefix. */
  readonly positions = new Map<string, number>()
  readonly #options: FollowerOptions
  readonly #admin: Admin
  readonly #consumer: Consumer
  readonly #logs: LogWatch
  readonly #report: (fault: LogFault) => void
  #isClosed = false

  constructor(options: FollowerOptions) {
    const { connection, kind, topics, config } = options
    this.#options = options
    this.groupId = connection.named(`${kind}.${topics.join('+')}.${randomUUID()}`)
    this.#admin = connection.kafka.admin()
    this.#report = createFaultReporter({ connection, seenBy: kind })
    this.#logs = watchLog({
      log: connection.log,
      fromBeginning: kind === 'table',
      fetchPosition: (topic, partition) => {
        const offset = this.position(connection.plain(topic), partition)
        return offset === undefined ? undefined : { offset }
      },
      onFault: (fault) => this.#faulty(fault),
      seek: (at) => this.#consumer.seek(at),
      onElection: () => void connection.elections.emit('election'),
    })
    this.#consumer = connection.kafka.consumer({
      groupId: this.groupId,
      allowAutoTopicCreation: false,
      partitionAssigners: [this.#logs.assigning(PartitionAssigners.roundRobin)],
      retry: {
        ...CONSUMER_RETRIES,
        restartOnFailure: async () => !this.#isClosed,
      },
      ...config,
    })
    this.#listen()
  }

  async connect(): Promise<void> {
    await Promise.all([this.#admin, this.#consumer].map((each) => this.#untilBack(() => each.connect())))
  }

  async run(): Promise<void> {
    const { connection, topics } = this.#options
    const subscription = { topics: topics.map(connection.named), fromBeginning: true }
    await this.#untilBack(() => this.#consumer.subscribe(subscription))
    await this.#consumer.run({ autoCommit: false, eachBatch: (payload) => this.#read(payload) })
  }

  #untilBack(step: () => Promise<void>): Promise<void> {
    return untilBack(step, () => this.#isClosed)
  }

  position(topic: string, partition: number): number | undefined {
    return (
      this.positions.get(partitionKey(topic, partition)) ?? (this.#options.kind === 'table' ? 0 : undefined)
    )
  }

  #listen(): void {
    const consumer = this.#consumer
    const { connection, onJoined, onFatal, accepts } = this.#options
    const { GROUP_JOIN, FETCH, END_BATCH_PROCESS, CRASH } = consumer.events
    consumer.on(GROUP_JOIN, ({ payload }) => {
      const assigned = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
        partitions.map((partition) => ({ topic: connection.plain(topic), partition })),
      )
      // without commits, a group starts at the beginning after each join
      for (const at of assigned) if (this.positions.has(partitionKey(at.topic, at.partition))) this.#seek(at)
      onJoined?.(assigned)
    })
    consumer.on(FETCH, ({ payload }) => {
      if (payload.numberOfBatches === 0) return
      const now = performance.now()
      // the broker answers within the wait. If this process was paused since then, it lacks newer records
      this.fetchedAt = Math.min(now, now - payload.duration + IDLE_WAIT_MS)
    })
    // the handler gets no batches with only the marker of a transaction
    consumer.on(END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, lastOffset } = payload
      if (!accepts) this.#passed({ topic: connection.plain(topic), partition }, Number(lastOffset))
    })
    consumer.on(CRASH, ({ payload }) => {
      if (!payload.restart && !this.#isClosed) onFatal(payload.error)
    })
  }

  async #read({ batch, isStale }: EachBatchPayload): Promise<void> {
    const { connection, accepts, onRecord, onSkipped } = this.#options
    const at = { topic: connection.plain(batch.topic), partition: batch.partition, offset: 0 }
    if (accepts && !accepts(at, isStale)) return
    const key = partitionKey(at.topic, at.partition)
    this.receivedAt = performance.now()
    for (const message of skipUndecodable(batch, connection, onSkipped)) {
      at.offset = Number(message.offset)
      // it was read before a join
      if (at.offset < (this.positions.get(key) ?? 0)) continue
      onRecord(message, at)
      // it may have skipped further ones
      this.positions.set(key, Math.max(this.positions.get(key) ?? 0, at.offset + 1))
    }
    if (accepts) this.#passed(at, Number(batch.lastOffset()))
  }

  #passed(at: TopicPartition, lastOffset: number): void {
    const key = partitionKey(at.topic, at.partition)
    this.positions.set(key, Math.max(this.positions.get(key) ?? 0, lastOffset + 1))
    this.#options.onMoved?.(at)
  }

  #faulty(fault: LogFault): undefined {
    const { connection, accepts, onMoved, onFault } = this.#options
    if (!accepts || fault.cause !== 'removed') this.#report(fault)
    const at = { topic: connection.plain(fault.topic), partition: fault.partition }
    if (this.position(at.topic, at.partition) === undefined) return
    this.positions.set(partitionKey(at.topic, at.partition), fault.to)
    onFault?.(fault)
    onMoved?.(at)
  }

  /** Leaves out the records before `offset`. Call it from `onRecord`. */
  skipTo({ topic, partition }: TopicPartition, offset: number): void {
    this.positions.set(partitionKey(topic, partition), offset)
    this.#seek({ topic, partition })
  }

  #seek({ topic, partition }: TopicPartition): void {
    const offset = String(this.position(topic, partition) ?? 0)
    this.#consumer.seek({ topic: this.#options.connection.named(topic), partition, offset })
  }

  resume(at: TopicPartition): void {
    this.#unlessRestarting(at, (where) => {
      this.#seek(at)
      this.#consumer.resume(where)
    })
  }

  pause(at: TopicPartition): void {
    this.#unlessRestarting(at, (where) => this.#consumer.pause(where))
  }

  #unlessRestarting(
    at: TopicPartition,
    act: (where: { topic: string; partitions: number[] }[]) => void,
  ): void {
    const { connection } = this.#options
    try {
      act([{ topic: connection.named(at.topic), partitions: [at.partition] }])
    } catch (err) {
      connection.log.debug({ err, ...at }, 'seek or pause waits until the restarted consumer joins')
    }
  }

  forget({ topic, partition }: TopicPartition): void {
    this.#logs.forget(this.#options.connection.named(topic), partition)
  }

  bounds(topic: string): Promise<BoundsOf> {
    return boundsOf(this.#admin, this.#options.connection.named(topic))
  }

  /** A broker that has just started answers before it leads its partitions. */
  firstBounds(topic: string): Promise<BoundsOf> {
    return pRetry(() => this.bounds(topic), { retries: 8, minTimeout: 50, maxTimeout: 1_000 })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await within(CLOSE_MS, this.#leave())
  }

  async #leave(): Promise<void> {
    const { groupId } = this
    await this.#consumer.disconnect()
    // otherwise the broker forgets it later
    await this.#admin
      .deleteGroups([groupId])
      .catch((err) => this.#options.connection.log.debug({ err, groupId }, 'the group was not deleted'))
    await this.#admin.disconnect()
  }
}

/** Logs and counts undecodable batches. @returns the other records. */
export function skipUndecodable(
  batch: TopicPartition & { messages: Message[] },
  { log, plain }: Pick<Connection, 'log' | 'plain'>,
  onSkipped?: (fault: BatchFault) => void,
): Message[] {
  return batch.messages.filter((message) => {
    const fault = batchFaultOf(message)
    if (!fault) return true
    const topic = plain(batch.topic)
    log.error(
      { topic, partition: batch.partition, ...fault },
      'a batch cannot be decoded; its records are skipped',
    )
    countSkippedBatch(topic)
    onSkipped?.(fault)
    return false
  })
}
