import type { Storage } from '../kafka/admin/storage.ts'
import { listTopics } from '../kafka/admin/topics.ts'
import { CLOSE_MS, type Connection } from '../kafka/client.ts'
import type { PartitionWatch } from '../kafka/consume/assignment.ts'
import { type Consumer, consume } from '../kafka/consume/consume.ts'
import {
  type ConsumerRecord,
  type Handler,
  type Hold,
  holdFor,
  type Message,
} from '../kafka/consume/record.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import { within } from '../process/timeout.ts'
import { DELIVERIES_RETENTION, DUE, isRung, rungDelay } from '../schemas/topics.ts'
import { carried } from '../trace/trace.ts'

export type RungParts = {
  connection: Connection
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  storage: Pick<Storage, 'shortage'>
  onFatal: (error: Error) => void
  watch: PartitionWatch
}

/**
 * Reads all rungs that exist, even of older ladders or other deliverers. All members subscribe to the same topics,
 * because a member does not read topics that it does not know.
 */
export async function consumeRungs(parts: RungParts): Promise<Consumer> {
  const { connection } = parts
  let topics = await existingRungs(connection)
  let consumer = await openRungs(topics, parts)
  let closing = false

  async function follow(): Promise<void> {
    const found = await existingRungs(connection)
    if (closing || found.join() === topics.join()) return
    await consumer.close()
    topics = []
    if (closing) return
    consumer = await openRungs(found, parts)
    topics = found
    // `close` does not wait for long
    if (closing) return consumer.close(0)
    connection.log.info({ topics }, 'the rungs have changed')
  }

  const following = repeat(follow, (err) =>
    connection.failures.add({ kind: 'rungs', text: 'the list of rungs cannot be read', err }),
  )
  return {
    joined: consumer.joined,
    owns: (partition) => consumer.owns(partition),
    loads: () => consumer.loads(),
    async close(drainMs) {
      closing = true
      await following.stop()
      await consumer.close(drainMs)
    },
  }
}

const existingRungs = async (connection: Connection): Promise<string[]> =>
  (await listTopics(connection)).filter(isRung).toSorted()

/** Unsettled records per partition. */
const HIGH_WATER = 400

const openRungs = (topics: readonly string[], { producer, storage, ...parts }: RungParts) =>
  consume({
    ...parts,
    producer,
    group: 'deliverer.rungs',
    codec: bytes,
    topics,
    handle: rungs(producer, storage),
    highWater: HIGH_WATER,
    maxWaitMs: 100,
    maxBytesPerPartition: 32 * 1024,
  })

/** The records of a new rung may wait this long for older deliverers. */
const POLL_MS = 10_000

/** One at a time. */
function repeat(check: () => Promise<void>, onFailed: (err: unknown) => void) {
  let checking: Promise<void> | undefined
  const repeating = setInterval(() => {
    checking ??= check()
      .catch(onFailed)
      .finally(() => {
        checking = undefined
      })
  }, POLL_MS)
  return {
    async stop(): Promise<void> {
      clearInterval(repeating)
      if (checking) await within(CLOSE_MS, checking)
    },
  }
}

/** Synchronized clocks differ by less than this. */
const SKEW_MS = 1_000
const SHORTAGE_HOLD_MS = 1_000
/** For records on their way to rungs and back. */
const MAX_QUEUED_BYTES = 32 * 1024 * 1024
const QUEUE_HOLD_MS = 100

/**
 * Moves records unchanged to `deliveries.due` when they are due, and settles them when Kafka has the copy. They are due
 * in order, except for batched deferrals, so one that is not due holds its partition. While Kafka is short of storage,
 * all wait: each retry that fails writes its delivery again, and Kafka exits when its disk is full.
 */
export function rungs(
  producer: Pick<Producer, 'produce' | 'queuedBytes'>,
  storage: Pick<Storage, 'shortage'>,
): Handler<Buffer> {
  return (record, message) => {
    const dueAt = Number(message.headers?.dueAt?.toString())
    const next = nextMove(record, dueAt, Date.now())
    if ('holdUntil' in next) return next
    const full = storage.shortage() ? holdFor(SHORTAGE_HOLD_MS) : queueHold(producer)
    if (full) return full
    move(record, message, next)
    return
  }

  function move(record: ConsumerRecord<Buffer>, message: Message, { topic, headers }: Move): void {
    const { key, value } = record
    const moved: OutRecord = { topic, key, value, headers: { ...carried(message.headers), ...headers } }
    void producer.produce([moved]).then((outcome) => {
      if (outcome === 'acked') record.settle()
      else if (outcome === 'unknown') record.release()
      else record.park(message, `cannot be moved to ${topic}: ${outcome}`)
    })
  }
}

/** While too much waits for Kafka. */
export const queueHold = (producer: Pick<Producer, 'queuedBytes'>): Hold | undefined =>
  producer.queuedBytes() > MAX_QUEUED_BYTES ? holdFor(QUEUE_HOLD_MS) : undefined

type Move = { topic: string; headers?: { dueAt: string } }

/** A record that waits longer than its rung was written under a fast clock: it goes to the end. */
function nextMove(
  { topic, timestamp }: Pick<ConsumerRecord<Buffer>, 'topic' | 'timestamp'>,
  given: number,
  now: number,
): Move | { holdUntil: number } {
  const delayMs = rungDelay(topic)
  // no record of Sluice waits longer; one of another program could hold the partition for days
  const dueAt = delayMs === 0 ? given : Math.min(given, timestamp + delayMs + SKEW_MS)
  // due at once if the time is implausible: missing, or after the record is deleted
  if (!(given < timestamp + DELIVERIES_RETENTION && dueAt > now)) return { topic: DUE }
  if (delayMs === 0 || dueAt <= now + delayMs + SKEW_MS) return { holdUntil: dueAt }
  return { topic, headers: { dueAt: String(now + delayMs) } }
}

/** Values are moved without being decoded. */
export const bytes = {
  decode: (value: Buffer | null) =>
    value === null
      ? { ok: false as const, reason: 'undecodable' as const, message: 'the value is null' }
      : { ok: true as const, value },
}
