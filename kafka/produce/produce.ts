import type { IHeaders } from 'kafkajs'
import type { Trace } from '../../trace/trace.ts'
import { type Connection, within } from '../client.ts'
import { sendIn } from '../consume/spans.ts'
import { createTurns } from './fair-queue.ts'
import { openPending, type Pending, type Produced } from './pending.ts'
import { createSender, type Keyed } from './send.ts'

/** One record to write. `topic` without prefix; `key` decides the partition (murmur2, as in Java) unless it is given. */
export type OutRecord = {
  topic: string
  key: string | Buffer
  partition?: number
  value: Buffer | string | null
  headers?: IHeaders
}

/**
 * Records that are made one by one as they are sent, so that what they share waits only once. `record(place)`: places count from 0.
 * The first is made at once. Its size is checked for all, so no other may be much larger.
 */
export type RecordList = { count: number; record(place: number): OutRecord }

export type ProduceOptions = {
  /** Milliseconds after which the outcome is `unknown`. Default: none. */
  deadlineMs?: number
  /** The trace that the records belong to. */
  trace?: Pick<Trace, 'send'> | undefined
  /** Records of one flow are sent in order. Flows take turns, so that one with much to send does not delay the others. */
  flow?: string
}

export type Producer = {
  /** Resolves when all in-sync replicas have every record (`acked`), or will not. Never rejects. */
  produce(records: readonly OutRecord[], options?: ProduceOptions): Promise<Produced>
  /** The same for a list of at least one record. */
  produceList(list: RecordList, options?: ProduceOptions): Promise<Produced>
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

/** Below the broker's `max.message.bytes` (1,048,588) with room for headers and framing. */
const MAX_RECORD_BYTES = 1_000_000

/** What a record takes in memory besides its key and value, or nearly: many small ones must not pass for few. */
const RECORD_OVERHEAD = 512
/** Memory for each record of a list that is not made yet: a place in an array. */
const REFERENCE_BYTES = 8
const SWEEP_MS = 250
/** A send that waits for so long, while brokers answer, is for topics that take no writes. */
const STALL_MS = 10_000

type Queued = { topic: string; message: Keyed; bytes: number; batch: Produce }
/** What was produced together. `bytes`: of memory, until the last of its records has ended. */
type Produce = RecordList & { pending: Pending; bytes: number }

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
  const turns = createTurns(toQueue)
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
    while (!turns.isEmpty()) {
      await new Promise(setImmediate) // what has come in by now goes along
      sending = turns.next()
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

  function settle({ batch }: Queued, outcome: 'acked' | 'refused'): void {
    if (batch.pending.ended(outcome)) queuedBytes -= batch.bytes
  }

  /** Tells whoever waits past a deadline; the record stays where it is. */
  function giveUp(now: number): void {
    if (now < soonest) return
    soonest = Number.POSITIVE_INFINITY
    const batches = [...sending.map(({ batch }) => batch), ...turns.waiting()]
    for (const { pending } of batches) {
      if (pending.deadline <= now) pending.settle('unknown')
      else soonest = Math.min(soonest, pending.deadline)
    }
  }

  function toQueue(batch: Produce, place: number): Queued {
    const { topic, key: given, value, partition, headers } = batch.record(place)
    const key = typeof given === 'string' ? Buffer.from(given) : given
    const message: Keyed = { key, value, placed: undefined }
    if (partition !== undefined) message.partition = partition
    if (headers) message.headers = headers
    return { topic: connection.named(topic), message, bytes: sizeOf(message), batch }
  }

  function take(
    list: MeasuredList,
    { deadlineMs = Number.POSITIVE_INFINITY, flow = '' }: ProduceOptions,
  ): Promise<Produced> {
    const { count, record, bytes, largest } = list
    if (count === 0) return Promise.resolve('acked')
    if (closed) return Promise.resolve('unknown')
    if (isFull()) return Promise.resolve('full')
    if (largest > MAX_RECORD_BYTES) return Promise.resolve('too_large')
    const pending = openPending(count, performance.now() + deadlineMs)
    soonest = Math.min(soonest, pending.deadline)
    queuedBytes += bytes
    turns.add(flow, { count, record, pending, bytes })
    running ??= run()
    return pending.outcome
  }

  function produce(list: MeasuredList, options: ProduceOptions = {}): Promise<Produced> {
    const { trace } = options
    if (!trace || list.count === 0) return take(list, options)
    const sent = { topic: connection.named(list.record(0).topic), count: list.count }
    return sendIn<OutRecord>(trace, sent, (traced) =>
      take({ ...list, record: (place) => traced(list.record(place)) }, options),
    )
  }

  return {
    produce: (records, options) => produce(listOf(records), options),
    produceList: (list, options) => produce(measured(list), options),
    isFull,
    queuedBytes: () => queuedBytes,
    stalledMs: () => (sendingSince === 0 ? 0 : performance.now() - sendingSince),
    async close(drainMs = 10_000) {
      const end = performance.now() + drainMs
      while (running && performance.now() < end) await within(end - performance.now(), running)
      closed = true // in the turn in which nothing is left, or the time is over
      clearInterval(sweep)
      giveUp(Number.POSITIVE_INFINITY)
      turns.clear()
      await sender.close()
    },
  }
}

/** `bytes`: of memory while it waits. `largest`: bytes of its largest record. */
type MeasuredList = RecordList & { bytes: number; largest: number }

function listOf(records: readonly OutRecord[]): MeasuredList {
  let bytes = 0
  let largest = 0
  for (const record of records) {
    const size = sizeOf(record)
    bytes += size + RECORD_OVERHEAD
    largest = Math.max(largest, size)
  }
  return { count: records.length, record: (place) => records[place] as OutRecord, bytes, largest }
}

function measured({ count, record }: RecordList): MeasuredList {
  const first = record(0)
  const size = sizeOf(first)
  const bytes = size + RECORD_OVERHEAD + (count - 1) * REFERENCE_BYTES
  return { count, record: (place) => (place === 0 ? first : record(place)), bytes, largest: size }
}

function sizeOf({ key, value }: Pick<OutRecord, 'key' | 'value'>): number {
  return Buffer.byteLength(key) + (value === null ? 0 : Buffer.byteLength(value))
}
