import { randomUUID } from 'node:crypto'
import pRetry from 'p-retry'
import { tellingFaults } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { PartitionAssigners } from '../patches/kafkajs.ts'
import { watchLog } from '../patches/log-watch.ts'
import { type BoundsOf, boundsOf, type Range } from './ranges.ts'
import { leaveForGood, readable } from './readable.ts'

/** Reads parts of a topic that are asked for. */
export type Reader = {
  /** How many the topic had when this was opened. */
  partitions: number
  bounds(): Promise<BoundsOf>
  /**
   * Resolves when the range has been read; rejects after half a minute in which nothing came. Ranges of one partition are read
   * one after another, in the order in which they are asked for.
   * `onValue` must not throw, nor keep the value or the key: it would pin its whole fetch.
   */
  read(range: Range, onValue: OnValue): Promise<void>
  close(): Promise<void>
}

/** `timestamp`: the record's own time, ms since 1970. */
type OnValue = (
  value: Buffer | null,
  offset: number,
  record: { key: Buffer | null; timestamp: number },
) => void

type Job = Range & {
  onValue: OnValue
  /** There was something to read. */
  came(): void
  done(): void
  fail(error: Error): void
}

const READ_MS = 30_000
/** How late a range begins to be read. */
const FETCH_WAIT_MS = 50

/**
 * A consumer with a group of its own in which every partition is paused but while a range of it is read. It joins once,
 * here: a group for each reading would wait for the broker's initial rebalance delay each time (3 s by default).
 */
export async function openReader({
  connection,
  topic,
  onFatal,
}: {
  connection: Connection
  topic: string
  /** The consumer has stopped for good. */
  onFatal: (error: Error) => void
}): Promise<Reader> {
  const named = connection.named(topic)
  const groupId = connection.named(`reader.${topic}.${randomUUID()}`)
  const jobs = new Map<number, Job>()
  /** Of each partition the end of the last reading that was asked for; it never rejects. */
  const last = new Map<number, Promise<unknown>>()
  const admin = connection.kafka.admin()
  const tellFault = tellingFaults({ connection, seenBy: 'reader' })
  const logs = watchLog({
    log: connection.log,
    place: (_, partition) => {
      const job = jobs.get(partition)
      return job && { offset: job.from }
    },
    onFault(fault) {
      const job = jobs.get(fault.partition)
      // what is asked for from the log's beginning on may be removed by its retention meanwhile: that is no loss
      if (fault.cause !== 'removed') {
        tellFault(fault)
        // a part that is not what was asked for any more is asked for anew by whoever wants it
        job?.fail(new Error(`the log of ${topic} has changed while it was read`))
      }
      if (!job) return undefined
      job.from = fault.to
      if (job.from >= job.to) job.done()
      return undefined
    },
    seek: (at) => consumer.seek(at),
  })
  const consumer = connection.kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    partitionAssigners: [logs.assigning(PartitionAssigners.roundRobin)],
    maxWaitTimeInMs: FETCH_WAIT_MS,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 20 },
  })
  const joined = new Promise<void>((resolve) => {
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      // what a join takes back to the beginning must not be read on from there
      for (const partition of payload.memberAssignment[named] ?? []) turn(partition)
      resolve()
    })
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) onFatal(payload.error)
  })

  function turn(partition: number): void {
    const where = [{ topic: named, partitions: [partition] }]
    const job = jobs.get(partition)
    try {
      if (job) consumer.seek({ topic: named, partition, offset: String(job.from) })
      consumer[job ? 'resume' : 'pause'](where)
    } catch (err) {
      connection.log.debug({ err, topic, partition }, 'the consumer restarts; its join sees to it')
    }
  }

  await Promise.all([admin.connect(), consumer.connect()])
  await consumer.subscribe({ topics: [named], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, isStale }) => {
      const job = jobs.get(batch.partition)
      if (!job || isStale()) return
      for (const { key, value, offset, timestamp } of readable(batch, connection)) {
        if (Number(offset) >= job.to) break
        if (Number(offset) < job.from) continue
        job.onValue(value, Number(offset), { key, timestamp: Number(timestamp) })
        job.from = Number(offset) + 1
      }
      job.from = Math.max(job.from, Number(batch.lastOffset()) + 1)
      job.came()
      if (job.from >= job.to) job.done()
    },
  })
  await joined

  const bounds = () => boundsOf(admin, named)

  async function readNow(range: Range, onValue: OnValue): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const limit = setTimeout(() => reject(new Error(`nothing of ${topic} came for ${READ_MS} ms`)), READ_MS)
    jobs.set(range.partition, { ...range, onValue, came: () => limit.refresh(), done: resolve, fail: reject })
    // its bounds were asked for a moment ago: what earlier readings knew of the log is past
    logs.forget(named, range.partition)
    turn(range.partition)
    try {
      await promise
    } finally {
      clearTimeout(limit)
      jobs.delete(range.partition)
      turn(range.partition)
    }
  }

  return {
    // a broker that has just come back answers before it leads its partitions again
    partitions: (await pRetry(bounds, { retries: 8, minTimeout: 50, maxTimeout: 1_000 })).size,
    bounds,
    async read(range, onValue) {
      if (range.from >= range.to) return
      const reading = Promise.resolve(last.get(range.partition)).then(() => readNow(range, onValue))
      last.set(
        range.partition,
        reading.catch(() => undefined),
      )
      await reading
    },
    close: () => leaveForGood({ consumer, admin, groupId }, connection.log),
  }
}
