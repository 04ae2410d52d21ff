import pRetry from 'p-retry'
import { asError } from '../../process/thrown.ts'
import type { Connection } from '../client.ts'
import { isLedElsewhere } from '../patches/consumer/coordinator-moves.ts'
import { type PartitionOffset, partitionKey } from '../topic-partition.ts'
import { Follower } from './follower.ts'
import type { BoundsOf, Range } from './ranges.ts'

export type Reader = {
  /** How many there were when the reader was opened. */
  partitions: number
  bounds(): Promise<BoundsOf>
  /**
   * Rejects if the log changes, nothing arrives for half a minute, or `onValue` throws. Ranges of a partition are read
   * one after another. `onValue` must not store value or key: they keep the whole fetch in memory. It returns `enough` to
   * skip the rest of the range.
   */
  read(range: Range, onValue: OnValue): Promise<void>
  close(): Promise<void>
}

/** `timestamp`: the record's time, ms since 1970. */
type OnValue = (
  value: Buffer | null,
  offset: number,
  record: { key: Buffer | null; timestamp: number },
) => 'enough' | undefined

type Job = Range & {
  onValue: OnValue
  progress(): void
  done(): void
  fail(error: Error): void
}

const READ_MS = 30_000
/** Limits the delay before a range is read. */
const FETCH_WAIT_MS = 50
/** A broker that has just started, or a topic that has just been created, may not have its leader yet. */
const whileUnled = {
  retries: 5,
  minTimeout: 100,
  shouldRetry: ({ error }: { error: Error }) => isLedElsewhere(error),
}

/**
 * Partitions are paused except while a range is read. All ranges share one group: joining a new one takes 3 s by
 * default.
 */
export async function openReader(options: ReaderOptions): Promise<Reader> {
  const { topic } = options
  const jobs: Jobs = new Map()
  const joined = Promise.withResolvers<number>()
  const follower = followerFor(jobs, joined, options)
  const readInTurn = queuePerPartition((range, onValue) =>
    readRange({ follower, topic, jobs }, range, onValue),
  )
  try {
    await follower.connect()
    const [, partitions] = await Promise.all([follower.run(), joined.promise])
    return {
      partitions,
      bounds: () => pRetry(() => follower.bounds(topic), whileUnled),
      async read(range, onValue) {
        if (range.from < range.to) await readInTurn(range, onValue)
      },
      close: () => follower.close(),
    }
  } catch (error) {
    await follower.close()
    throw error
  }
}

/** Does nothing if the log has no such record: in a recreated topic, `read` would wait until it is written. */
export async function readOne(
  reader: Pick<Reader, 'bounds' | 'read'>,
  { partition, offset }: PartitionOffset,
  onValue: OnValue,
): Promise<void> {
  const bounds = (await reader.bounds()).get(partition)
  if (!bounds || offset < bounds.low || offset >= bounds.high) return
  await reader.read({ partition, from: offset, to: offset + 1 }, onValue)
}

type ReaderOptions = { connection: Connection; topic: string; onFatal: (error: Error) => void }
type Jobs = Map<number, Job>

function followerFor(
  jobs: Jobs,
  joined: Pick<PromiseWithResolvers<number>, 'resolve' | 'reject'>,
  { connection, topic, onFatal }: ReaderOptions,
): Follower {
  const follower = new Follower({
    connection,
    kind: 'reader',
    topics: [topic],
    // the group has one member, so rare heartbeats delay nobody
    config: { maxWaitTimeInMs: FETCH_WAIT_MS, heartbeatInterval: 9_000 },
    accepts: ({ partition }, isStale) => jobs.has(partition) && !isStale(),
    onRecord({ value, key, timestamp }, { partition, offset }) {
      const job = jobs.get(partition)
      if (!job || offset >= job.to) return
      try {
        if (job.onValue(value, offset, { key, timestamp: Number(timestamp) }) !== 'enough') return
        job.done()
      } catch (error) {
        // otherwise the consumer would stop, and with it the process
        job.fail(asError(error))
      }
      jobs.delete(partition)
    },
    onMoved({ partition }) {
      const job = jobs.get(partition)
      job?.progress()
      if (job && (follower.position(topic, partition) ?? 0) >= job.to) job.done()
    },
    onFault({ partition, cause }) {
      // the caller may ask for the range again
      if (cause !== 'removed')
        jobs.get(partition)?.fail(new Error(`the log of ${topic} changed while it was read`))
    },
    onJoined(assigned) {
      for (const at of assigned) follower[jobs.has(at.partition) ? 'resume' : 'pause'](at)
      // the only member of its group gets all partitions
      joined.resolve(assigned.length)
    },
    onFatal(error) {
      joined.reject(error)
      onFatal(error)
    },
  })
  return follower
}

type Read = (range: Range, onValue: OnValue) => Promise<void>

function queuePerPartition(read: Read): Read {
  /** These never reject. */
  const last = new Map<number, Promise<unknown>>()
  return async (range, onValue) => {
    const reading = Promise.resolve(last.get(range.partition)).then(() => read(range, onValue))
    last.set(
      range.partition,
      reading.catch(() => undefined),
    )
    await reading
  }
}

async function readRange(
  { follower, topic, jobs }: { follower: Follower; topic: string; jobs: Jobs },
  range: Range,
  onValue: OnValue,
): Promise<void> {
  const at = { topic, partition: range.partition }
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const limit = setTimeout(() => reject(new Error(`no records of ${topic} came for ${READ_MS} ms`)), READ_MS)
  jobs.set(range.partition, {
    ...range,
    onValue,
    progress: () => limit.refresh(),
    done: resolve,
    fail: reject,
  })
  follower.positions.set(partitionKey(topic, range.partition), range.from)
  // the caller has just asked for the bounds: older knowledge is out of date
  follower.forget(at)
  follower.resume(at)
  try {
    await promise
  } finally {
    clearTimeout(limit)
    jobs.delete(range.partition)
    follower.positions.delete(partitionKey(topic, range.partition))
    follower.pause(at)
  }
}
