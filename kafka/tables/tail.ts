import { randomUUID } from 'node:crypto'
import type { EachBatchPayload, IHeaders } from 'kafkajs'
import pRetry from 'p-retry'
import { tellingFaults } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { partitionKey } from '../log-faults.ts'
import { IDLE_WAIT_MS, setFetchWait } from '../patches/fetch-wait.ts'
import { PartitionAssigners } from '../patches/kafkajs.ts'
import { watchLog } from '../patches/log-watch.ts'
import { leaveForGood, readable } from './readable.ts'

/** A record that passes by. `timestamp`: its own time, ms since 1970. */
export type TailRecord = {
  topic: string
  partition: number
  offset: number
  timestamp: number
  key: Buffer | null
  value: Buffer | null
  headers: IHeaders
}

/** Where a partition was begun: all from offset `from` on is handed over, what there was from `low` to it is not. */
export type Begun = { topic: string; partition: number; low: number; from: number }

export type Tail = {
  begun: readonly Begun[]
  /** When a broker last answered, in ms of `performance.now()`. */
  fetchedAt(): number
  /** Resolves when all that was in the topics at the start has been handed over; never after `close`. */
  caughtUp: Promise<void>
  close(): Promise<void>
}

/** @returns the partitions of a tail's one topic of which there is more than is handed over. */
export const begunLate = ({ begun }: Pick<Tail, 'begun'>): ReadonlySet<number> =>
  new Set(begun.filter(({ low, from }) => from > low).map(({ partition }) => partition))

export type TailOptions = {
  connection: Connection
  topics: readonly string[]
  /** How many offsets before its end a partition is begun, of a topic with so many partitions. Gaps are counted too. */
  last: (partitions: number) => number
  /**
   * Called for each record, in the order of its partition, once. Must not throw, nor keep key, value or a header: each is a
   * slice that would pin its whole fetch.
   */
  onRecord: (record: TailRecord) => void
  /** The consumer has stopped for good. */
  onFatal: (error: Error) => void
}

/** While records come fetches wait for so much or so long: one for a few would cost as much as one for hundreds. Otherwise for the first. */
const BUSY = { minBytes: 64 * 1024, maxWaitTime: 100 }
const QUIET = { minBytes: 1, maxWaitTime: IDLE_WAIT_MS }

/** Follows topics from near their end, with a group of its own that commits nothing and is deleted at the end. */
export async function openTail(options: TailOptions): Promise<Tail> {
  const { connection, onRecord, onFatal } = options
  const groupId = connection.named(`tail.${options.topics.join('+')}.${randomUUID()}`)
  /** The next offset to hand over of each partition. */
  const positions = new Map<string, number>()
  /** Of the partitions that are behind: the end that there was at the start. */
  const ends = new Map<string, number>()
  const { promise: caughtUp, resolve: atEnd } = Promise.withResolvers<void>()
  const admin = connection.kafka.admin()
  let fetchedAt = performance.now()
  let cameAt = Number.NEGATIVE_INFINITY
  const isBusy = () => performance.now() - cameAt < BUSY.maxWaitTime
  const endWaits = setFetchWait(groupId, () => (isBusy() ? BUSY : QUIET))
  const tellFault = tellingFaults({ connection, seenBy: 'tail' })
  const logs = watchLog({
    log: connection.log,
    place: (topic, partition) => {
      const offset = positions.get(partitionKey(topic, partition))
      return offset === undefined ? undefined : { offset }
    },
    onFault(fault) {
      tellFault(fault)
      const key = partitionKey(fault.topic, fault.partition)
      positions.set(key, fault.to)
      ends.delete(key)
      if (ends.size === 0) atEnd()
      return undefined
    },
    seek: (at) => consumer.seek(at),
  })
  const consumer = connection.kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    partitionAssigners: [logs.assigning(PartitionAssigners.roundRobin)],
    // the shortest that brokers allow: after an outage it may come back only when its old session has ended
    sessionTimeout: 6_000,
    heartbeatInterval: 1_500,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 20 },
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    // a group without commits begins anew after each join: each partition goes on where it was
    for (const [topic, partitions] of Object.entries(payload.memberAssignment))
      for (const partition of partitions) goOn(topic, partition)
  })
  consumer.on(consumer.events.FETCH, ({ payload }) => {
    if (payload.numberOfBatches > 0) fetchedAt = performance.now()
  })
  // also told of batches that hold nothing but a transaction's marker, which no handler sees
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) =>
    passed(partitionKey(payload.topic, payload.partition), Number(payload.lastOffset)),
  )
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) onFatal(payload.error)
  })

  /** One that the topic has got since the start is read from its beginning. */
  function goOn(topic: string, partition: number): void {
    const offset = positions.get(partitionKey(topic, partition))
    if (offset !== undefined) consumer.seek({ topic, partition, offset: String(offset) })
  }

  function passed(key: string, offset: number): void {
    positions.set(key, Math.max(positions.get(key) ?? 0, offset + 1))
    if (offset + 1 < (ends.get(key) ?? 0)) return
    ends.delete(key)
    if (ends.size === 0) atEnd()
  }

  async function eachBatch({ batch }: EachBatchPayload): Promise<void> {
    const { topic, partition } = batch
    const key = partitionKey(topic, partition)
    const plain = connection.plain(topic)
    cameAt = performance.now()
    for (const message of readable(batch, connection)) {
      const offset = Number(message.offset)
      if (offset < (positions.get(key) ?? 0)) continue
      const { value, headers = {}, timestamp } = message
      const record = { topic: plain, partition, offset, key: message.key, value, headers }
      onRecord({ ...record, timestamp: Number(timestamp) })
      positions.set(key, offset + 1)
    }
  }

  async function begin(topic: string): Promise<Begun[]> {
    // a broker that has just come back answers before it leads its partitions again
    const found = await pRetry(() => admin.fetchTopicOffsets(connection.named(topic)), {
      retries: 8,
      minTimeout: 50,
      maxTimeout: 1_000,
    })
    return found.map(({ partition, low, high }) => {
      const from = Math.max(Number(low), Number(high) - options.last(found.length))
      const key = partitionKey(connection.named(topic), partition)
      positions.set(key, from)
      if (from < Number(high)) ends.set(key, Number(high))
      return { topic, partition, low: Number(low), from }
    })
  }

  async function close(): Promise<void> {
    await leaveForGood({ consumer, admin, groupId }, connection.log)
    endWaits()
  }

  try {
    await Promise.all([admin.connect(), consumer.connect()])
    const begun = (await Promise.all(options.topics.map(begin))).flat()
    if (ends.size === 0) atEnd()
    await consumer.subscribe({ topics: options.topics.map(connection.named), fromBeginning: true })
    await consumer.run({ autoCommit: false, eachBatch })
    return { begun, caughtUp, fetchedAt: () => fetchedAt, close }
  } catch (error) {
    await close()
    throw error
  }
}
