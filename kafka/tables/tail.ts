import type { IHeaders } from 'kafkajs'
import type { Connection } from '../client.ts'
import { IDLE_WAIT_MS, setFetchWait } from '../patches/consumer/fetch-wait.ts'
import { partitionKey, type TopicPartition } from '../topic-partition.ts'
import { Follower } from './follower.ts'

/** `timestamp`: ms since 1970. */
export type TailRecord = {
  topic: string
  partition: number
  offset: number
  timestamp: number
  key: Buffer | null
  value: Buffer | null
  headers: IHeaders
}

/** Records from `from` on are passed on; those from `low` to `from` are not. */
export type Begun = TopicPartition & { low: number; from: number }

export type Tail = {
  begun: readonly Begun[]
  /** When a broker last answered, by `performance.now()`. */
  fetchedAt(): number
  /** Resolves when everything in the topics at the start has been passed on; never after `close`. */
  caughtUp: Promise<void>
  close(): Promise<void>
}

/**
 * For a tail of one topic.
 * @returns the partitions with records that are too old for it.
 */
export const begunLate = ({ begun }: Pick<Tail, 'begun'>): ReadonlySet<number> =>
  new Set(begun.filter(({ low, from }) => from > low).map(({ partition }) => partition))

export type TailOptions = {
  connection: Connection
  topics: readonly string[]
  /** How many offsets before its end a partition starts, by the number of partitions. Gaps count. */
  last: (partitions: number) => number
  /** Roughly how many bytes of its past records to read from a partition; the older ones are skipped. */
  pastBytes?: number
  /**
   * Called once per record, in the partition's order. If it throws, the record is skipped. It must not store key, value
   * or headers: they keep the whole fetch in memory.
   */
  onRecord: (record: TailRecord) => void
  onFatal: (error: Error) => void
}

/** A fetch of a few records costs as much as one of hundreds. */
const BUSY = { minBytes: 64 * 1024, maxWaitTime: 200 }
/** A record arrives at once. */
const QUIET = { minBytes: 1, maxWaitTime: IDLE_WAIT_MS }

export async function openTail(options: TailOptions): Promise<Tail> {
  const openedAt = performance.now()
  const ends = createEnds()
  const skip = limitPast(options.pastBytes ?? Number.POSITIVE_INFINITY)
  const follower = new Follower({
    connection: options.connection,
    kind: 'tail',
    topics: options.topics,
    // as in table.ts
    config: { sessionTimeout: 6_000, heartbeatInterval: 2_000 },
    onRecord({ key, value, headers = {}, timestamp }, { topic, partition, offset }) {
      handOver({ topic, partition, offset, key, value, headers, timestamp: Number(timestamp) }, options)
      const at = partitionKey(topic, partition)
      const next = skip(at, { offset, bytes: value?.length ?? 0, end: ends.of(at) })
      if (next !== undefined) follower.skipTo({ topic, partition }, next)
    },
    onMoved: ({ topic, partition }) => ends.passed(partitionKey(topic, partition), follower.positions),
    onFault: ({ topic, partition }) => ends.reached(partitionKey(options.connection.plain(topic), partition)),
    onFatal: options.onFatal,
  })
  const isBusy = () => performance.now() - follower.receivedAt < BUSY.maxWaitTime
  const resetFetchWait = setFetchWait(follower.groupId, () => (isBusy() ? BUSY : QUIET))

  async function begin(topic: string): Promise<Begun[]> {
    const bounds = await follower.firstBounds(topic)
    return [...bounds].map(([partition, { low, high }]) => {
      const from = Math.max(low, high - options.last(bounds.size))
      const key = partitionKey(topic, partition)
      follower.positions.set(key, from)
      if (from < high) ends.expect(key, high)
      return { topic, partition, low, from }
    })
  }

  const fetchedAt = () => Math.max(openedAt, follower.fetchedAt)

  async function close(): Promise<void> {
    await follower.close()
    resetFetchWait()
  }

  try {
    await follower.connect()
    const begun = (await Promise.all(options.topics.map(begin))).flat()
    ends.settleIfReached()
    await follower.run()
    return { begun, caughtUp: ends.allReached, fetchedAt, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A record of another program must not end the process, and again after each restart. */
function handOver(record: TailRecord, options: Pick<TailOptions, 'onRecord' | 'connection'>): void {
  try {
    options.onRecord(record)
  } catch (err) {
    const { topic, partition, offset } = record
    options.connection.failures.add({
      kind: `skipped ${topic}`,
      text: 'skipping a record that cannot be read',
      err,
      fields: { topic, partition, offset },
      isFinal: true,
    })
  }
}

/**
 * Once `most` bytes of a partition's past records are read, skips to its last ones: as many as `most` bytes would hold if
 * they are as large as those before. A few large ones must not cost as much as thousands: 500 rejected batches of 900 KB took 6 s.
 */
function limitPast(most: number) {
  const read = new Map<string, { records: number; bytes: number }>()
  return (
    key: string,
    { offset, bytes, end }: { offset: number; bytes: number; end: number | undefined },
  ): number | undefined => {
    if (end === undefined) return undefined
    const before = read.get(key) ?? { records: 0, bytes: 0 }
    const sum = { records: before.records + 1, bytes: before.bytes + bytes }
    read.set(key, sum)
    if (sum.bytes <= most) return undefined
    read.delete(key)
    const next = end - Math.max(1, Math.floor((most * sum.records) / sum.bytes))
    return next > offset + 1 ? next : undefined
  }
}

/** The partitions' ends at the start, by `partitionKey`, until they are reached. */
function createEnds() {
  const ends = new Map<string, number>()
  const { promise: allReached, resolve } = Promise.withResolvers<void>()

  function settleIfReached(): void {
    if (ends.size === 0) resolve()
  }

  function reached(key: string): void {
    ends.delete(key)
    settleIfReached()
  }

  return {
    allReached,
    of: (key: string) => ends.get(key),
    settleIfReached,
    reached,
    expect: (key: string, end: number) => void ends.set(key, end),
    passed(key: string, positions: ReadonlyMap<string, number>): void {
      if ((positions.get(key) ?? 0) >= (ends.get(key) ?? 0)) reached(key)
    },
  }
}
