import type { IHeaders } from 'kafkajs'
import type { Trace } from '../trace/trace.ts'
import { type Connection, within } from './client.ts'
import { openPending, type Pending, type Produced } from './pending.ts'
import { createSender, type Keyed } from './send.ts'
import { sendIn } from './traced.ts'

/** One record to write. `topic` without prefix; `key` decides the partition (murmur2, as in Java) unless it is given. */
export type OutRecord = {
  topic: string
  key: string | Buffer
  partition?: number
  value: Buffer | string | null
  headers?: IHeaders
}

export type Producer = {
  /** Resolves when all in-sync replicas have every record (`acked`), or will not. Never rejects. With `trace` they belong to it. */
  produce(
    records: readonly OutRecord[],
    options?: { deadlineMs?: number; trace?: Pick<Trace, 'send'> | undefined },
  ): Promise<Produced>
  /** Whether what is produced now would be told `full`. */
  isFull(): boolean
  /** Bytes that wait or are under way. */
  queuedBytes(): number
  /** Milliseconds for which the send under way has waited for its acknowledgement; 0 when none is. */
  stalledMs(): number
  /** Waits for what is queued, at most `drainMs`, then disconnects. */
  close(drainMs?: number): Promise<void>
}

export type ProducerOptions = {
  /** Bound of what waits, in bytes of memory. */
  maxQueuedBytes?: number
  /** Told after each send that has ended. */
  onAck?: (ack: { records: number; seconds: number }) => void
}

const MAX_RECORDS = 500
const MAX_BYTES = 512 * 1024
/** Below the broker's `max.message.bytes` (1,048,588) with room for headers and framing. */
const MAX_RECORD_BYTES = 1_000_000

/** What a record takes in memory besides its key and value, or nearly: many small ones must not pass for few. */
const RECORD_OVERHEAD = 512
const SWEEP_MS = 250
/** A send that waits for so long, while brokers answer, is for topics that take no writes. */
const STALL_MS = 10_000

type Queued = { topic: string; message: Keyed; bytes: number; pending: Pending }

/**
 * Collects records into sends, one under way at a time (see send.ts). Batches form by load, not by timer: when idle a
 * send starts on the next tick; while one is out, what comes is collected and sent when it returns.
 */
export async function createProducer(
  connection: Connection,
  options: ProducerOptions = {},
): Promise<Producer> {
  const { maxQueuedBytes = 64 * 1024 * 1024, onAck } = options
  const { log, failures } = connection
  const queue: Queued[] = []
  let sending: readonly Queued[] = []
  const sender = await createSender(connection)
  const sweep = setInterval(() => {
    giveUp(performance.now())
    tellStall(performance.now())
  }, SWEEP_MS).unref()
  let queuedBytes = 0
  let sendingSince = 0
  let stalled: { topics: string[] } | undefined
  /** No deadline is before that. */
  let soonest = Number.POSITIVE_INFINITY
  let running: Promise<void> | undefined
  let closed = false

  const isFull = () => queuedBytes > maxQueuedBytes

  async function run(): Promise<void> {
    while (queue.length > 0) {
      await new Promise(setImmediate) // what has come in by now goes along
      sending = queue.splice(0, batchLength(queue))
      if (sending.length === 0) break // closed meanwhile
      sendingSince = performance.now()
      await sender.send(sending, settle)
      const seconds = (performance.now() - sendingSince) / 1000
      onAck?.({ records: sending.length, seconds })
      if (stalled) log.info({ ...stalled, seconds: Math.round(seconds) }, 'Kafka takes writes again')
      stalled = undefined
      sendingSince = 0
      sending = []
    }
    // in the same turn as the last look at the queue: what comes between the two would stay there
    running = undefined
  }

  function tellStall(now: number): void {
    const since = failures.reachableSince()
    if (stalled || sendingSince === 0 || since === undefined) return
    if (now - Math.max(sendingSince, since) < STALL_MS) return
    stalled = { topics: [...new Set(sending.map(({ topic }) => topic))] }
    log.warn(stalled, 'Kafka does not take writes')
  }

  function settle({ pending, bytes }: Queued, outcome: 'acked' | 'refused'): void {
    queuedBytes -= bytes + RECORD_OVERHEAD
    if (outcome === 'acked') pending.acked()
    else pending.settle(outcome)
  }

  /** Tells whoever waits past a deadline; the record stays where it is. */
  function giveUp(now: number): void {
    if (now < soonest) return
    soonest = Number.POSITIVE_INFINITY
    for (const { pending } of [...sending, ...queue]) {
      if (pending.deadline <= now) pending.settle('unknown')
      else soonest = Math.min(soonest, pending.deadline)
    }
  }

  function enqueue(records: readonly Queued[]): void {
    for (const record of records) {
      queuedBytes += record.bytes + RECORD_OVERHEAD
      queue.push(record)
    }
    running ??= run()
  }

  function toQueue({ topic, key: given, value, partition, headers }: OutRecord, pending: Pending): Queued {
    const key = typeof given === 'string' ? Buffer.from(given) : given
    const message: Keyed = { key, value, placed: undefined }
    if (partition !== undefined) message.partition = partition
    if (headers) message.headers = headers
    return { topic: connection.named(topic), message, bytes: sizeOf(message), pending }
  }

  function take(records: readonly OutRecord[], deadlineMs = Number.POSITIVE_INFINITY): Promise<Produced> {
    if (records.length === 0) return Promise.resolve('acked')
    if (closed) return Promise.resolve('unknown')
    if (isFull()) return Promise.resolve('full')
    const pending = openPending(records.length, performance.now() + deadlineMs)
    soonest = Math.min(soonest, pending.deadline)
    const queued = records.map((record) => toQueue(record, pending))
    if (queued.some(({ bytes }) => bytes > MAX_RECORD_BYTES)) pending.settle('too_large')
    else enqueue(queued)
    return pending.outcome
  }

  return {
    produce(records, { deadlineMs, trace } = {}) {
      const [first] = records
      if (!trace || !first) return take(records, deadlineMs)
      const sent = { records, topic: connection.named(first.topic) }
      return sendIn(trace, sent, (carrying) => take(carrying, deadlineMs))
    },
    isFull,
    queuedBytes: () => queuedBytes,
    stalledMs: () => (sendingSince === 0 ? 0 : performance.now() - sendingSince),
    async close(drainMs = 10_000) {
      const end = performance.now() + drainMs
      while (running && performance.now() < end) await within(end - performance.now(), running)
      closed = true // in the turn in which nothing is left, or the time is over
      clearInterval(sweep)
      giveUp(Number.POSITIVE_INFINITY)
      queue.length = 0
      await sender.close()
    },
  }
}

/** How many records from the head of the queue make the next send: at least one. */
function batchLength(queue: readonly Queued[]): number {
  let bytes = 0
  let count = 0
  for (const item of queue) {
    bytes += item.bytes
    if (count === MAX_RECORDS || (count > 0 && bytes > MAX_BYTES)) break
    count += 1
  }
  return count
}

function sizeOf({ key, value }: Pick<Keyed, 'key' | 'value'>): number {
  return key.length + (value === null ? 0 : Buffer.byteLength(value))
}
