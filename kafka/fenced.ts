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
  table: Pick<Table, 'caughtUp' | 'reached'>
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

  async function attempt<R>(decide: () => Decision<R>): Promise<Written<R>> {
    const current = await owner()
    const decision = decide()
    if ('refusal' in decision) return { ok: false, refusal: decision.refusal }
    const transaction = await current.transaction()
    const written = await transaction.sendBatch({
      acks: -1,
      topicMessages: decision.records.map(({ topic, ...message }) => ({
        topic: connection.named(topic),
        messages: [message],
      })),
    })
    await transaction.commit()
    // the commit is answered before its marker is in the topic: until then the end of the topic is still before our records
    for (const { partition, baseOffset } of written)
      await table.reached({ partition, offset: Number(baseOffset) })
    return { ok: true }
  }

  async function write<R>(decide: () => Decision<R>): Promise<Written<R>> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt(decide)
      } catch (error) {
        await discard()
        if (!isFenced(error) || tries === 5)
          return { ok: false, unavailable: error instanceof Error ? error : new Error(String(error)) }
        connection.log.info('another control instance has written; deciding anew')
      }
    }
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

function isFenced(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('type' in cause && (cause.type === 'INVALID_PRODUCER_EPOCH' || cause.type === 'PRODUCER_FENCED'))
      return true
  return false
}
