import type { Producer } from 'kafkajs'
import { CLOSE_MS, type Connection, within } from './client.ts'
import type { OutRecord } from './produce.ts'
import type { Table } from './table.ts'

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

/**
 * Writing with a condition, for any number of instances: all use one `transactionalId`, so that a newer instance fences
 * the older one in the broker. Whoever has been fenced makes a new producer, reads the table to its end and decides anew.
 * Not fenced means: nobody else has written (design: kafka, "Tables").
 */
export function createFencedWriter(options: {
  connection: Connection
  transactionalId: string
  table: Pick<Table, 'caughtUp' | 'reached' | 'get'>
}): FencedWriter {
  const { connection, table } = options
  const transactionalId = connection.named(options.transactionalId)
  let producer: Producer | undefined
  let last: Promise<unknown> = Promise.resolve()

  async function owner(): Promise<Producer> {
    if (producer) return producer
    const fresh = connection.kafka.producer({
      transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      retry: { retries: 5 },
    })
    await fresh.connect()
    // begins no transaction that writes; it takes the id over, from when on others are fenced
    await (await fresh.transaction()).abort()
    await table.caughtUp()
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

  /** Whether a write whose commit failed was made after all; sealed values are never twice the same. */
  function isThere(records: readonly OutRecord[]): boolean {
    return records.every(({ key, value }) => {
      const found = table.get(String(key))
      return value === null ? found === undefined : found?.equals(Buffer.from(value)) === true
    })
  }

  async function write<R>(decide: () => Decision<R>): Promise<Written<R>> {
    let inDoubt: readonly OutRecord[] | undefined
    let failure: unknown
    try {
      for (let tries = 1; tries <= TRIES; tries++) {
        // after a failure: takes over, which ends what was under way, and reads the table to its end
        const current = await owner()
        if (inDoubt && isThere(inDoubt)) return { ok: true }
        const decision = decide()
        if ('refusal' in decision) return { ok: false, refusal: decision.refusal }
        inDoubt = decision.records
        const error = await commit(current, decision.records).then(
          () => undefined,
          (reason: unknown) => reason ?? new Error('failed'),
        )
        if (!error) return { ok: true }
        failure = error
        connection.log.info(
          { err: error },
          'another control instance has written, or Kafka failed; deciding anew',
        )
        await discard()
      }
    } catch (error) {
      failure = error
      await discard()
    }
    return { ok: false, unavailable: failure instanceof Error ? failure : new Error(String(failure)) }
  }

  return {
    write(decide) {
      const result = last.then(() => write(decide))
      last = result
      return result
    },
    async close() {
      await within(CLOSE_MS, last)
      await within(CLOSE_MS, discard())
    },
  }
}

const TRIES = 5
