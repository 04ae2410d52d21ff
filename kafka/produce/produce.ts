import type { IHeaders } from 'kafkajs'
import { limitFor } from '../../process/shared-room.ts'
import { within } from '../../process/timeout.ts'
import type { Trace } from '../../trace/trace.ts'
import { createFaultReporter } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { AckedEnds, compareAfterElections } from './acked-ends.ts'
import { createFairQueue } from './fair-queue.ts'
import { type Pace, Pacer } from './pacer.ts'
import { openPending, type Pending, type Produced } from './pending.ts'
import { createSender, type Keyed, type Sender } from './send.ts'
import { UnwritablePartitions } from './unwritable.ts'

/** `topic`: without prefix. The key decides the partition (murmur2, as in Java) unless `partition` is given. */
export type OutRecord = {
  topic: string
  key: string | Buffer
  partition?: number
  value: Buffer | string | null
  headers?: IHeaders
  /** Ms since 1970. Only for a `FencedWriter`; default: when it is sent. */
  timestamp?: string
}

/**
 * Records are made when they are sent, so that shared data is in memory once. Places count from 0. None may be much
 * larger than the first: only its size is checked.
 */
export type RecordList = { count: number; record(place: number): OutRecord }

export type ProduceOptions = {
  /** After this many ms the outcome is `unknown`. */
  deadlineMs?: number
  trace?: Pick<Trace, 'send'> | undefined
  /**
   * Records of one flow are sent in order. Flows share the sends (fair-queue.ts), and a flow that fills the queue leaves
   * room for others.
   */
  flow?: string | undefined
}

export type Producer = {
  /** Resolves when all in-sync replicas have every record, or on failure. Never rejects. */
  produce(records: readonly OutRecord[], options?: ProduceOptions): Promise<Produced>
  /** The list must not be empty. */
  produceList(list: RecordList, options?: ProduceOptions): Promise<Produced>
  /** For this flow; without one, for all. */
  isFull(flow?: string): boolean
  queuedBytes(): number
  /** How long Kafka has acknowledged nothing although records are being sent or unwritable; 0 if none are. */
  stalledMs(): number
  /** How long records have waited for unwritable partitions (unwritable.ts); 0 if none wait. */
  unwritableMs(): number
  close(drainMs?: number): Promise<void>
}

export type ProducerOptions = {
  maxQueuedBytes?: number
  pace?: Pace
  onAck?: (ack: { records: number; seconds: number }) => void
}

/** Below the broker's `max.message.bytes` (1,048,588), with room for framing. */
const MAX_RECORD_BYTES = 1_000_000
/** Approximate memory besides key, value and headers. */
const RECORD_OVERHEAD = 512
/** Memory for a record that is not made yet. */
const REFERENCE_BYTES = 8
const MAX_QUEUED_BYTES = 64 * 1024 * 1024
const SWEEP_MS = 250
/** If a send waits this long while brokers answer, its topic accepts no writes. */
const STALL_MS = 10_000

type Queued = { topic: string; message: Keyed; bytes: number; batch: Batch; place: number }
/** `bytes`: the memory it takes until its last record has ended. */
type Batch = RecordList & { pending: Pending; bytes: number; flow: string }

/**
 * Sends one at a time. An idle producer sends on the next tick; under load, records collect during a send and for
 * `pace.ms`.
 */
export async function createProducer(
  connection: Connection,
  options: ProducerOptions = {},
): Promise<Producer> {
  const report = createFaultReporter({ connection, seenBy: 'producer' })
  const ends = new AckedEnds(report, () => void connection.elections.emit('election'))
  const queue = new ProduceQueue(connection, options, await createSender(connection, ends))
  const endComparing = compareAfterElections(connection, ends)

  function produce(list: MeasuredList, options: ProduceOptions = {}): Promise<Produced> {
    const { trace } = options
    if (!trace || list.count === 0) return queue.take(list, options)
    const sent = { topic: connection.named(list.record(0).topic), count: list.count }
    return sendIn<OutRecord>(trace, sent, (traced) =>
      queue.take({ ...list, record: (place) => traced(list.record(place)) }, options),
    )
  }

  return {
    produce: (records, options) => produce(measureAll(records), options),
    produceList: (list, options) => produce(measureFirst(list), options),
    isFull: (flow) => queue.isFull(flow),
    queuedBytes: () => queue.queuedBytes,
    stalledMs: () => queue.stalledMs(),
    unwritableMs: () => queue.unwritableMs(),
    close(drainMs = 10_000) {
      endComparing()
      return queue.close(drainMs)
    },
  }
}

class ProduceQueue {
  queuedBytes = 0
  /** The same by flow. */
  private readonly bytesOf = new Map<string, number>()
  private readonly connection: Connection
  private readonly options: ProducerOptions
  private readonly pacer: Pacer
  private readonly maxBytes: number
  private readonly sender: Sender
  private readonly waiting = createFairQueue<Queued, Batch>((batch, place) => this.toQueued(batch, place))
  private readonly unwritable = new UnwritablePartitions<Queued>(({ batch, place }) =>
    this.toQueued(batch, place),
  )
  /** Only while records are queued, so that an idle process sleeps. */
  private sweep: NodeJS.Timeout | undefined
  private sending: readonly Queued[] = []
  private sendingSince = 0
  private ackedAt = Number.NEGATIVE_INFINITY
  private stalled: { topics: string[] } | undefined
  /** A lower bound of all deadlines. */
  private soonest = Number.POSITIVE_INFINITY
  private running: Promise<void> | undefined
  private closed = false

  constructor(connection: Connection, options: ProducerOptions, sender: Sender) {
    this.connection = connection
    this.options = options
    this.pacer = new Pacer(options.pace)
    this.maxBytes = options.maxQueuedBytes ?? MAX_QUEUED_BYTES
    this.sender = sender
  }

  isFull(flow = ''): boolean {
    const own = flow === '' ? 0 : (this.bytesOf.get(flow) ?? 0)
    return this.queuedBytes > limitFor(own, this.maxBytes)
  }

  private count(flow: string, bytes: number): void {
    this.queuedBytes += bytes
    const left = (this.bytesOf.get(flow) ?? 0) + bytes
    if (left > 0) this.bytesOf.set(flow, left)
    else this.bytesOf.delete(flow)
  }

  take(
    { count, record, bytes, largest }: MeasuredList,
    { deadlineMs = Number.POSITIVE_INFINITY, flow = '' }: ProduceOptions,
  ): Promise<Produced> {
    if (count === 0) return Promise.resolve('acked')
    if (this.closed) return Promise.resolve('unknown')
    if (this.isFull(flow)) return Promise.resolve('full')
    if (largest > MAX_RECORD_BYTES) return Promise.resolve('too_large')
    const pending = openPending(count, performance.now() + deadlineMs)
    this.soonest = Math.min(this.soonest, pending.deadline)
    const areAlone = this.queuedBytes === 0
    this.count(flow, bytes)
    this.waiting.add(flow, { count, record, pending, bytes, flow })
    this.pacer.added(count, areAlone)
    this.running ??= this.run()
    this.sweep ??= setInterval(() => {
      this.expire(performance.now())
      this.reportStall(performance.now())
      if (!this.running) this.endSweep()
    }, SWEEP_MS).unref()
    return pending.outcome
  }

  private async run(): Promise<void> {
    const { waiting, unwritable, pacer, options, connection } = this
    let isAgain = false
    while (!this.closed && !(waiting.isEmpty() && unwritable.isEmpty())) {
      // all queued records may be for unwritable partitions
      if (waiting.isEmpty()) await pacer.idle(unwritable.dueAt() - performance.now())
      else await pacer.collect()
      // once a partition is writable again, its records take turns with the others
      const due: Queued[] = isAgain && !waiting.isEmpty() ? [] : unwritable.takeDue(performance.now())
      isAgain = due.length > 0
      this.sending = isAgain ? due : waiting.next()
      if (this.sending.length === 0) continue
      this.sendingSince = performance.now()
      const left = await (isAgain ? this.sendAgain() : this.sendNext())
      // their deadline may have passed meanwhile
      if (left > 0) this.soonest = 0
      const seconds = (performance.now() - this.sendingSince) / 1000
      const records = this.sending.length - left
      if (records > 0) {
        this.ackedAt = performance.now()
        options.onAck?.({ records, seconds })
      }
      if (this.stalled)
        connection.log.info({ ...this.stalled, seconds: Math.round(seconds) }, 'Kafka takes writes again')
      this.stalled = undefined
      this.sendingSince = 0
      this.sending = []
    }
    // no await since the queue was empty, so no record is left behind
    this.running = undefined
  }

  /** @returns how many could not be written yet. */
  private async sendNext(): Promise<number> {
    const { sending, unwritable } = this
    this.pacer.sent(sending.length, this.sendingSince)
    const left = await this.sender.send(sending, this.settle, (...at) => unwritable.has(...at))
    unwritable.add(left, performance.now())
    return left.length
  }

  /** @returns how many still cannot be written. */
  private async sendAgain(): Promise<number> {
    const left = await this.sender.send(this.sending, this.settle)
    this.unwritable.putBack(left, performance.now())
    return left.length
  }

  private toQueued(batch: Batch, place: number): Queued {
    const { topic, key: given, value, partition, headers } = batch.record(place)
    const key = typeof given === 'string' ? Buffer.from(given) : given
    const message: Keyed = { key, value, placed: undefined }
    if (partition !== undefined) message.partition = partition
    if (headers) message.headers = headers
    return { topic: this.connection.named(topic), message, bytes: sizeOf(message), batch, place }
  }

  private settle = ({ batch }: Pick<Queued, 'batch'>, outcome: 'acked' | 'refused'): void => {
    if (batch.pending.ended(outcome)) this.count(batch.flow, -batch.bytes)
  }

  private endSweep(): void {
    clearInterval(this.sweep)
    this.sweep = undefined
  }

  /** Reports `unknown`, but leaves the records in the queue, unless their partition is unwritable. */
  private expire(now: number): void {
    if (now < this.soonest) return
    this.soonest = Number.POSITIVE_INFINITY
    const taken = [...this.sending, ...this.unwritable.all()]
    const batches = [...taken.map(({ batch }) => batch), ...this.waiting.waiting()]
    for (const { pending } of batches) {
      if (pending.deadline <= now) pending.settle('unknown')
      else this.soonest = Math.min(this.soonest, pending.deadline)
    }
    // drops all remaining records of a call, or none: later ones must not be written without earlier ones
    const left = Map.groupBy(this.unwritable.all(), ({ batch }) => batch)
    const over = new Set<Batch>()
    for (const [batch, its] of left)
      if (batch.pending.deadline <= now) {
        if (now === Number.POSITIVE_INFINITY || its.length === batch.pending.left()) over.add(batch)
        else this.soonest = 0
      }
    for (const record of this.unwritable.remove(({ batch }) => over.has(batch)))
      this.settle(record, 'refused')
  }

  private reportStall(now: number): void {
    const { failures, log } = this.connection
    const since = failures.reachableSince()
    if (this.stalled || this.sendingSince === 0 || since === undefined) return
    if (now - Math.max(this.sendingSince, since) < STALL_MS) return
    this.stalled = { topics: [...new Set(this.sending.map(({ topic }) => topic))] }
    log.warn(this.stalled, 'Kafka does not take writes')
  }

  stalledMs(): number {
    const sendingMs = this.sendingSince === 0 ? 0 : performance.now() - this.sendingSince
    const unwritableMs = this.unwritableMs()
    return performance.now() - this.ackedAt > unwritableMs ? Math.max(sendingMs, unwritableMs) : sendingMs
  }

  unwritableMs(): number {
    const since = this.unwritable.since()
    return since === undefined ? 0 : performance.now() - since
  }

  async close(drainMs: number): Promise<void> {
    const end = performance.now() + drainMs
    while (this.running && performance.now() < end) await within(end - performance.now(), this.running)
    this.closed = true
    this.endSweep()
    this.expire(Number.POSITIVE_INFINITY)
    this.waiting.clear()
    this.pacer.stop()
    await this.sender.close()
  }
}

/** `bytes`: the memory it takes. `largest`: bytes of its largest record. */
type MeasuredList = RecordList & { bytes: number; largest: number }

function measureAll(records: readonly OutRecord[]): MeasuredList {
  let bytes = 0
  let largest = 0
  for (const record of records) {
    const size = sizeOf(record)
    bytes += size + RECORD_OVERHEAD
    largest = Math.max(largest, size)
  }
  return { count: records.length, record: (place) => records[place] as OutRecord, bytes, largest }
}

function measureFirst({ count, record }: RecordList): MeasuredList {
  const first = record(0)
  const size = sizeOf(first)
  const bytes = size + RECORD_OVERHEAD + (count - 1) * REFERENCE_BYTES
  return { count, record: (place) => (place === 0 ? first : record(place)), bytes, largest: size }
}

/** Without framing. */
export function sizeOf({ key, value, headers }: Pick<OutRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = Buffer.byteLength(key) + (value === null ? 0 : Buffer.byteLength(value))
  for (const name in headers) bytes += headerBytes(name, headers[name])
  return bytes
}

/** The name is sent with each value. */
function headerBytes(name: string, value: IHeaders[string]): number {
  if (Array.isArray(value)) return value.reduce((sum, one) => sum + headerBytes(name, one), 0)
  return Buffer.byteLength(name) + Buffer.byteLength(value ?? '')
}

/** @param topic as named on the broker. */
export async function sendIn<R extends { headers?: IHeaders }>(
  trace: Pick<Trace, 'send'>,
  { topic, count }: { topic: string; count: number },
  produce: (traced: (record: R) => R) => Promise<Produced>,
): Promise<Produced> {
  const { headers, end } = trace.send(topic, count)
  const produced = await produce((record) => ({ ...record, headers: { ...record.headers, ...headers } }))
  end(produced)
  return produced
}
