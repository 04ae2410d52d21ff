import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import { tellingFaults } from '../admin/lost-records.ts'
import { CLOSE_MS, type Connection, within } from '../client.ts'
import type { LogFault } from '../log-faults.ts'
import { IDLE_WAIT_MS } from '../patches/fetch-wait.ts'
import { PartitionAssigners } from '../patches/kafkajs.ts'
import { watchLog } from '../patches/log-watch.ts'
import type { OutRecord } from '../produce/produce.ts'
import type { BatchFault } from '../protocol/decode-batches.ts'
import { readable } from './readable.ts'

/** A compacted topic held in memory. */
export type Table = {
  /** Resolves when all that was in the topic at the start has been read. */
  loaded: Promise<void>
  isLoaded(): boolean
  /** Whether it has followed the topic up to about a second ago; false while its consumer is out of its group. */
  isFresh(): boolean
  get(key: string): Buffer | undefined
  entries(): IterableIterator<[string, Buffer]>
  /**
   * Shows records as if they had been read for as long as `work` runs, which must not wait, so that nobody else sees it; then
   * all is as it was. What follows the table (`onChange`) is told both.
   */
  supposing<T>(work: (suppose: (records: readonly OutRecord[]) => void) => T): T
  /** Resolves when everything has been read that is in the topic now; rejects after `timeoutMs`. */
  caughtUp(timeoutMs?: number): Promise<void>
  /** Resolves when what was written up to this offset has been read; rejects after `timeoutMs`. */
  reached(position: { partition: number; offset: number }, timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

export type TableOptions = {
  connection: Connection
  topic: string
  /** The keys to hold; all unless told. Others are passed over. */
  wanted?: (key: string) => boolean
  /** Called for each record in the order of the topic; `undefined`: removed. Must not throw. */
  onChange?: (key: string, value: Buffer | undefined) => void
  /** Told of records that cannot be read, and are skipped. */
  onSkipped?: (fault: BatchFault) => void
  /** The consumer has stopped for good. */
  onFatal: (error: Error) => void
}

const LOAD_MS = 60_000
/** Fetches come four times a second; without one for so long the table may be behind. */
const FRESH_MS = 1_500

/** Follows a compacted topic of one partition from its beginning, with a group of its own that commits nothing and is deleted at the end. */
export async function openTable(options: TableOptions): Promise<Table> {
  const { connection, topic, wanted = () => true, onChange, onSkipped, onFatal } = options
  const groupId = connection.named(`table.${topic}.${randomUUID()}`)
  const values = new Map<string, Buffer>()
  /** The next offset to read of each partition. */
  const positions = new Map<number, number>()
  /** After a fault of the log: those that it has not shown again yet. */
  let unconfirmed = new Set<string>()
  let loaded = false
  let behind = true
  let fetchedAt = 0
  let joins = 0
  let closed = false
  const admin = connection.kafka.admin()
  const tellFault = tellingFaults({ connection, seenBy: 'table' })
  const logs = watchLog({
    log: connection.log,
    fromBeginning: true,
    place: (_, partition) => ({ offset: positions.get(partition) ?? 0 }),
    onFault: readAgain,
    seek: (at) => consumer.seek(at),
  })
  const consumer = connection.kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    partitionAssigners: [logs.assigning(PartitionAssigners.roundRobin)],
    maxWaitTimeInMs: IDLE_WAIT_MS,
    // the shortest that brokers allow: after an outage the table may be read again only when its old session has ended
    sessionTimeout: 6_000,
    heartbeatInterval: 1_500,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 20 },
  })
  // also told of batches that hold nothing but a transaction's marker, which no handler sees
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    positions.set(
      payload.partition,
      Math.max(positions.get(payload.partition) ?? 0, Number(payload.lastOffset) + 1),
    )
  })
  consumer.on(consumer.events.FETCH, ({ payload }) => {
    if (payload.numberOfBatches > 0) fetchedAt = performance.now()
  })
  consumer.on(consumer.events.GROUP_JOIN, () => {
    behind = true
    void catchUp(++joins)
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) onFatal(payload.error)
  })

  /** What the log does not hold any more goes when all that it holds has been read. */
  function readAgain(fault: LogFault): undefined {
    tellFault(fault)
    positions.set(fault.partition, fault.to)
    unconfirmed = new Set(values.keys())
    behind = true
    void catchUp(++joins)
  }

  /** An empty log keeps what there is: it was made anew a moment ago, and whoever restores it needs time. */
  function forgetUnconfirmed(): void {
    if (unconfirmed.size === values.size) return
    for (const key of unconfirmed) apply(key, null)
    unconfirmed.clear()
  }

  function supposing<T>(work: (suppose: (records: readonly OutRecord[]) => void) => T): T {
    const before: [string, Buffer | undefined][] = []
    try {
      return work((records) => {
        for (const { key, value } of records) {
          before.unshift([String(key), values.get(String(key))])
          apply(String(key), value === null ? null : Buffer.from(value))
        }
      })
    } finally {
      for (const [key, value] of before) apply(key, value ?? null)
    }
  }

  function apply(key: string, value: Buffer | null): void {
    if (!wanted(key)) return
    unconfirmed.delete(key)
    // a copy: a slice would pin the whole fetch for as long as the key lives
    if (value === null) values.delete(key)
    else values.set(key, Buffer.from(value))
    onChange?.(key, values.get(key))
  }

  /** After each join: until it has succeeded once, or another join has taken over. */
  async function catchUp(join: number): Promise<void> {
    const since = performance.now()
    while (behind && join === joins && !closed) {
      try {
        await caughtUp()
        if (join !== joins) return
        forgetUnconfirmed()
        behind = false
      } catch (err) {
        const text = 'a table is behind its topic'
        if (!closed) connection.failures.add({ kind: `table ${topic}`, text, err, fields: { topic }, since })
      }
    }
  }

  async function caughtUp(timeoutMs?: number): Promise<void> {
    // a broker that has just come back answers before it leads its partitions again
    const ends = await pRetry(() => admin.fetchTopicOffsets(connection.named(topic)), {
      retries: 8,
      minTimeout: 50,
      maxTimeout: 1_000,
    })
    for (const { partition, high } of ends) await reached({ partition, offset: Number(high) - 1 }, timeoutMs)
  }

  async function reached(
    { partition, offset }: { partition: number; offset: number },
    timeoutMs = 30_000,
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs
    while ((positions.get(partition) ?? 0) <= offset) {
      if (performance.now() > deadline)
        throw new Error(`table ${topic} has not caught up within ${timeoutMs} ms`)
      await sleep(2)
    }
  }

  await Promise.all([admin.connect(), consumer.connect()])
  await consumer.subscribe({ topics: [connection.named(topic)], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      // a group without commits begins anew after each join; what was applied before would turn the table back for a while
      const next = positions.get(batch.partition) ?? 0
      for (const { key, value, offset } of readable(batch, connection, onSkipped))
        if (key && Number(offset) >= next) apply(key.toString(), value)
    },
  })

  return {
    loaded: caughtUp(LOAD_MS).then(() => {
      loaded = true
    }),
    isLoaded: () => loaded,
    isFresh: () => !behind && performance.now() - fetchedAt < FRESH_MS,
    get: (key) => values.get(key),
    entries: () => values.entries(),
    supposing,
    caughtUp,
    reached,
    close: () => within(CLOSE_MS, leave()),
  }

  async function leave(): Promise<void> {
    closed = true
    await consumer.disconnect()
    // without offsets the broker forgets it by itself as well
    await admin
      .deleteGroups([groupId])
      .catch((err) => connection.log.debug({ err, groupId }, 'table group not deleted'))
    await admin.disconnect()
  }
}
