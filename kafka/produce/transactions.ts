import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer } from 'kafkajs'
import { asError } from '../../process/thrown.ts'
import { within } from '../../process/timeout.ts'
import { CLOSE_MS, type Connection } from '../client.ts'
import type { Table } from '../tables/table.ts'
import type { OutRecord } from './produce.ts'
import { isRecordFault } from './send.ts'

/** `unavailable`: Kafka did not answer. The write may have happened. */
export type Written<R> = { ok: true } | { ok: false; refusal: R } | { ok: false; unavailable: Error }

export type Decision<R> = { records: readonly OutRecord[] } | { refusal: R }

export type FencedWriter = {
  /**
   * Decides and writes with no other writer in between. Resolves when the table shows the write. Calls `decide` again
   * if another instance has written meanwhile.
   */
  write<R>(decide: () => Decision<R>): Promise<Written<R>>
  close(): Promise<void>
}

type Waiting = {
  decide(): readonly OutRecord[]
  written(): void
  fail(error: Error): void
}

/** The first `count` decisions of the queue. */
type WriteBatch = { count: number; records: readonly OutRecord[] }

/** Gives up once both are exceeded. Clients give up earlier, but instances that fence each other may need many tries. */
const TRIES = 5
const TRY_MS = 30_000
/** The broker accepts 1 MB per partition and request. A larger decision is written alone. */
const MAX_BYTES = 512 * 1024
/** Instances that fence each other wait a random time: at most this, or the time of the slowest try, for each failed try. */
const APART_MS = 100
/** Writes resume soon after Kafka is back. */
const MAX_WAIT_MS = 5_000

/** If someone adds partitions to a table, its records must stay in order. */
const PARTITION = 0

type Options = {
  connection: Connection
  transactionalId: string
  table: Pick<Table, 'caughtUp' | 'reached' | 'onRead' | 'supposing'>
}

/**
 * Conditional writes by any number of instances. They share a `transactionalId`: the newest fences the others. A fenced
 * instance opens a new producer, reads the table to its end and decides again. Waiting decisions are written together;
 * each sees those before it.
 */
export function createFencedWriter(options: Options): FencedWriter {
  const writer = new TransactionWriter(options)
  return {
    write<R>(decide: () => Decision<R>) {
      return new Promise<Written<R>>((resolve) => {
        let decision: Decision<R>
        writer.enqueue({
          decide() {
            decision = decide()
            return 'records' in decision ? decision.records : []
          },
          written: () => resolve('refusal' in decision ? { ok: false, ...decision } : { ok: true }),
          fail: (unavailable) => resolve({ ok: false, unavailable }),
        })
      })
    },
    close: () => writer.close(),
  }
}

class TransactionWriter {
  readonly #connection: Connection
  readonly #table: Options['table']
  readonly #transactionalId: string
  readonly #queue: Waiting[] = []
  /**
   * The latest batch, once it is sent: its first offset and value. The table reads them only if it is committed. One
   * alone proves nothing: another instance may have written the same value, as two that end one session do, or its
   * record has taken the offset of one that Kafka lost.
   */
  #sent: { offset: number; value: OutRecord['value']; isCommitted: boolean } | undefined
  #producer: Producer | undefined
  #writing: Promise<void> | undefined
  #isClosed = false

  constructor({ connection, transactionalId, table }: Options) {
    this.#connection = connection
    this.#table = table
    this.#transactionalId = connection.named(transactionalId)
    table.onRead(({ partition, offset }, value) => {
      if (partition === PARTITION && this.#sent?.offset === offset)
        this.#sent.isCommitted = isSame(value, this.#sent.value)
    })
  }

  enqueue(waiting: Waiting): void {
    this.#queue.push(waiting)
    this.#writing ??= this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    const queue = this.#queue
    while (queue.length > 0)
      try {
        for (const { written } of queue.splice(0, await this.#writeSome())) written()
      } catch (error) {
        await this.#discardProducer()
        for (const { fail } of queue.splice(0)) fail(asError(error))
      }
    this.#writing = undefined
  }

  /**
   * @returns how many decisions were written.
   * @throws when none can be written.
   */
  async #writeSome(): Promise<number> {
    let inDoubt: WriteBatch | undefined
    let maxBytes = MAX_BYTES
    let apart = APART_MS
    const began = performance.now()
    for (let tries = 1; ; tries++) {
      const from = performance.now()
      // after a failure, ends the previous transaction and reads the table to its end
      const producer = await this.#ownProducer()
      // only the answer to its commit was lost
      if (inDoubt && this.#sent?.isCommitted) return inDoubt.count
      inDoubt = this.#decideTogether(maxBytes)
      if (inDoubt.records.length === 0) return inDoubt.count
      try {
        await this.#commit(producer, inDoubt.records)
        return inDoubt.count
      } catch (err) {
        await this.#discardProducer()
        if (isRecordFault(err)) {
          this.#connection.log.warn({ err }, 'Kafka refuses a record')
          if (inDoubt.count === 1 || maxBytes === 0) return this.#refuse(inDoubt, asError(err))
          // one of them is refused, or all together
          inDoubt = undefined
          maxBytes = 0
          continue
        }
        this.#reportFenced(err)
        if (tries >= TRIES && performance.now() - began > TRY_MS) throw err
        apart = Math.max(apart, performance.now() - from)
        if (tries > 1) await sleep(Math.random() * Math.min(apart * tries, MAX_WAIT_MS))
      }
    }
  }

  #reportFenced(err: unknown): void {
    const text = 'another control instance has written, or Kafka failed; deciding again'
    this.#connection.failures.add({ kind: 'fenced', text, err })
  }

  async #ownProducer(): Promise<Producer> {
    if (this.#producer) return this.#producer
    if (this.#isClosed) throw new Error('the writer is closed')
    const producer = this.#connection.kafka.producer({
      transactionalId: this.#transactionalId,
      idempotent: true,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      retry: { maxRetryTime: 2_000, retries: 5 },
    })
    try {
      await producer.connect()
      // writes nothing, but takes over the id
      await (await producer.transaction()).abort()
      await this.#table.caughtUp()
      if (this.#isClosed) throw new Error('the writer is closed')
    } catch (error) {
      await producer.disconnect().catch(() => undefined)
      throw error
    }
    this.#producer = producer
    return producer
  }

  async #discardProducer(): Promise<void> {
    const old = this.#producer
    this.#producer = undefined
    await old?.disconnect().catch(() => undefined)
  }

  /** @param maxBytes 0: only the first decision with records. */
  #decideTogether(maxBytes: number): WriteBatch {
    return this.#table.supposing((suppose) => {
      const records: OutRecord[] = []
      let [count, bytes] = [0, 0]
      for (const waiting of [...this.#queue]) {
        const decided = this.#decide(waiting)
        bytes += decided ? bytesOf(decided) : 0
        if (records.length > 0 && bytes > maxBytes) break
        if (!decided) continue
        suppose(decided)
        records.push(...decided)
        count += 1
      }
      return { count, records }
    })
  }

  /** @returns undefined if it throws: only this decision fails. */
  #decide(waiting: Waiting): readonly OutRecord[] | undefined {
    try {
      return waiting.decide()
    } catch (error) {
      this.#queue.splice(this.#queue.indexOf(waiting), 1)
      waiting.fail(asError(error))
      return undefined
    }
  }

  async #commit(producer: Producer, records: readonly OutRecord[]): Promise<void> {
    this.#sent = undefined
    const transaction = await producer.transaction()
    const [written] = await transaction.sendBatch({
      acks: -1,
      topicMessages: records.map(({ topic, ...message }) => ({
        topic: this.#connection.named(topic),
        messages: [{ ...message, partition: PARTITION }],
      })),
    })
    const offset = Number(written?.baseOffset)
    this.#sent = { offset, value: records[0]?.value ?? null, isCommitted: false }
    await transaction.commit()
    // the commit is answered before its marker is in the topic: until then, our records seem to be missing
    await this.#table.reached({ partition: PARTITION, offset })
  }

  /** Refuses the last decision; those before it have nothing to write. */
  #refuse({ count }: WriteBatch, error: Error): 0 {
    for (const { written } of this.#queue.splice(0, count - 1)) written()
    this.#queue.shift()?.fail(error)
    return 0
  }

  async close(): Promise<void> {
    if (this.#writing) await within(CLOSE_MS, this.#writing)
    this.#isClosed = true
    await within(CLOSE_MS, this.#discardProducer())
  }
}

const bytesOf = (records: readonly OutRecord[]): number =>
  records.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value ?? ''), 0)

const isSame = (read: Buffer | null, sent: OutRecord['value']): boolean =>
  sent === null ? read === null : read?.equals(Buffer.from(sent)) === true
