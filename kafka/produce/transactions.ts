import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer } from 'kafkajs'
import { CLOSE_MS, type Connection, within } from '../client.ts'
import type { Table } from '../tables/table.ts'
import type { OutRecord } from './produce.ts'
import { isRecordFault } from './send.ts'

/** `ok: false` carries the caller's own refusal; `unavailable`: Kafka did not answer, the write may or may not have happened. */
export type Written<R> = { ok: true } | { ok: false; refusal: R } | { ok: false; unavailable: Error }

/** What a decision comes to: records to write, or a reason not to. */
export type Decision<R> = { records: readonly OutRecord[] } | { refusal: R }

export type FencedWriter = {
  /**
   * Decides on the table as it stands and writes, with nobody else writing in between; resolves when the table shows it.
   * `decide` may be called again when another instance has written meanwhile.
   */
  write<R>(decide: () => Decision<R>): Promise<Written<R>>
  close(): Promise<void>
}

/** A decision that waits for its turn. */
type Waiting = {
  /** @returns what is to be written. */
  decide(): readonly OutRecord[]
  written(): void
  fail(error: Error): void
}

/** Of the first that wait what is written at once. */
type Together = { count: number; records: readonly OutRecord[] }

/**
 * A write is given up when it has failed so often and for so long: longer than clients wait, as instances need not come apart in five slow
 * tries. An id that cannot be taken over at all fails those that wait sooner: the client has tried that itself.
 */
const TRIES = 5
const TRY_MS = 30_000
/** The broker takes 1 MB of a partition at once; a decision that comes to more than this is written alone. */
const MOST_BYTES = 512 * 1024
/**
 * The wait between two tries is chosen by chance, below so much for each try that has failed: instances that take the id from each other
 * come apart. It is the time of the slowest try where that took longer: the id must stay with one of them for a whole write.
 */
const APART_MS = 100
/** The longest wait: what failed while Kafka was away goes on soon after it is back. */
const FARTHEST_MS = 5_000

/**
 * Writing with a condition, for any number of instances: all use one `transactionalId`, so that a newer instance fences
 * the older one in the broker. Whoever has been fenced makes a new producer, reads the table to its end and decides anew.
 * Not fenced means: nobody else has written. Decisions that come while a write is under way are written
 * together, each decided as if those before it were in the table: so instances that take turns need not do so for each write.
 */
export function createFencedWriter(options: {
  connection: Connection
  transactionalId: string
  table: Pick<Table, 'caughtUp' | 'reached' | 'get' | 'supposing'>
}): FencedWriter {
  const { connection, table } = options
  const transactionalId = connection.named(options.transactionalId)
  const queue: Waiting[] = []
  let producer: Producer | undefined
  let writing: Promise<void> | undefined
  let isClosed = false

  async function owner(): Promise<Producer> {
    if (producer) return producer
    if (isClosed) throw new Error('the writer is closed')
    const fresh = connection.kafka.producer({
      transactionalId,
      idempotent: true,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      // members that contend for the id come apart the more they wait
      retry: { maxRetryTime: 2_000, retries: 5 },
    })
    try {
      await fresh.connect()
      // begins no transaction that writes; it takes the id over, from when on others are fenced
      await (await fresh.transaction()).abort()
      await table.caughtUp()
      if (isClosed) throw new Error('the writer is closed')
    } catch (error) {
      await fresh.disconnect().catch(() => undefined)
      throw error
    }
    producer = fresh
    return fresh
  }

  async function discard(): Promise<void> {
    const old = producer
    producer = undefined
    await old?.disconnect().catch(() => undefined)
  }

  async function commit(current: Producer, records: readonly OutRecord[]): Promise<void> {
    const transaction = await current.transaction()
    const written = await transaction.sendBatch({
      acks: -1,
      topicMessages: records.map(({ topic, ...message }) => ({
        topic: connection.named(topic),
        messages: [message],
      })),
    })
    await transaction.commit()
    // the commit is answered before its marker is in the topic: until then the end of the topic is still before our records
    for (const { partition, baseOffset } of written)
      await table.reached({ partition, offset: Number(baseOffset) })
  }

  /**
   * Those that wait, decided in their order, each by the table as it will be after those before.
   * @param mostBytes 0: only the first with records, and those before it, which rest on the table alone.
   */
  const decideTogether = (mostBytes: number): Together =>
    table.supposing((suppose) => {
      const records: OutRecord[] = []
      let [count, bytes] = [0, 0]
      for (const waiting of [...queue]) {
        const some = decided(waiting)
        bytes += some ? bytesOf(some) : 0
        if (records.length > 0 && bytes > mostBytes) break
        if (!some) continue
        suppose(some)
        records.push(...some)
        count += 1
      }
      return { count, records }
    })

  /** Undefined: it cannot be decided, which is not told to the others. */
  function decided(waiting: Waiting): readonly OutRecord[] | undefined {
    try {
      return waiting.decide()
    } catch (error) {
      queue.splice(queue.indexOf(waiting), 1)
      waiting.fail(asError(error))
      return undefined
    }
  }

  /**
   * Whether a write whose commit failed was made after all. All of it or nothing is there; sealed values are never twice the same, and
   * one of them can have been replaced since.
   */
  function isThere(records: readonly OutRecord[]): boolean {
    const values = records.filter(({ value }) => value !== null)
    if (values.length === 0) return records.every(({ key }) => table.get(String(key)) === undefined)
    return values.some(({ key, value }) => table.get(String(key))?.equals(Buffer.from(value ?? '')) === true)
  }

  /** Until some of those that wait are written, or refused. @returns how many were written. @throws when none can be. */
  async function writeSome(): Promise<number> {
    let inDoubt: Together | undefined
    let mostBytes = MOST_BYTES
    let apart = APART_MS
    const began = performance.now()
    for (let tries = 1; ; tries++) {
      const from = performance.now()
      // after a failure: takes over, which ends what was under way, and reads the table to its end
      const current = await owner()
      if (inDoubt && isThere(inDoubt.records)) return inDoubt.count
      inDoubt = decideTogether(mostBytes)
      if (inDoubt.records.length === 0) return inDoubt.count
      try {
        await commit(current, inDoubt.records)
        return inDoubt.count
      } catch (err) {
        await discard()
        if (isRecordFault(err)) {
          connection.log.warn({ err }, 'Kafka refuses a record')
          if (inDoubt.count === 1 || mostBytes === 0) return refuse(inDoubt, asError(err))
          // it may be any of them, or all together
          inDoubt = undefined
          mostBytes = 0
          continue
        }
        connection.failures.add({
          kind: 'fenced',
          text: 'another control instance has written, or Kafka failed; deciding anew',
          err,
        })
        if (tries >= TRIES && performance.now() - began > TRY_MS) throw err
        apart = Math.max(apart, performance.now() - from)
        if (tries > 1) await sleep(Math.random() * Math.min(apart * tries, FARTHEST_MS))
      }
    }
  }

  /** Of the last of them; those before it have nothing to write, and those behind can be written. */
  function refuse({ count }: Together, error: Error): 0 {
    for (const { written } of queue.splice(0, count - 1)) written()
    queue.shift()?.fail(error)
    return 0
  }

  async function writeAll(): Promise<void> {
    while (queue.length > 0)
      try {
        for (const { written } of queue.splice(0, await writeSome())) written()
      } catch (error) {
        await discard()
        for (const { fail } of queue.splice(0)) fail(asError(error))
      }
    writing = undefined
  }

  return {
    write<R>(decide: () => Decision<R>) {
      return new Promise<Written<R>>((resolve) => {
        let decision: Decision<R>
        queue.push({
          decide() {
            decision = decide()
            return 'records' in decision ? decision.records : []
          },
          written: () => resolve('refusal' in decision ? { ok: false, ...decision } : { ok: true }),
          fail: (unavailable) => resolve({ ok: false, unavailable }),
        })
        writing ??= writeAll()
      })
    },
    async close() {
      if (writing) await within(CLOSE_MS, writing)
      isClosed = true
      await within(CLOSE_MS, discard())
    },
  }
}

const bytesOf = (records: readonly OutRecord[]): number =>
  records.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value ?? ''), 0)

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
