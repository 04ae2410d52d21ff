import { within } from '../../../process/timeout.ts'
import type { Connection } from '../../client.ts'
import type { OutRecord, Produced, ProduceOptions, ProducerOptions, RecordList } from '../produce.ts'
import type { Keyed, Sender } from '../send.ts'
import { type BufferMemory, MAX_RECORD_BYTES, type MeasuredList, sizeOf } from './buffer-memory.ts'
import { createFairQueue } from './fair-queue.ts'
import { Pacer } from './pacer.ts'
import { expiryOf, openPending, type Pending } from './pending.ts'
import { StallWatch } from './stall-watch.ts'
import { UnwritablePartitions } from './unwritable.ts'

type Queued = { topic: string; message: Keyed; bytes: number; batch: Batch; place: number }
/** What one call produces. `bytes`: the memory it takes until its last record has ended. */
type Batch = RecordList & { pending: Pending; bytes: number; flow: string }
/** `isRetry`: its records have waited for an unwritable partition. */
type Send = { records: readonly Queued[]; isRetry: boolean }

const SWEEP_MS = 250

export type ProduceQueueParts = {
  connection: Connection
  sender: Sender
  memory: BufferMemory
  options: Pick<ProducerOptions, 'pace' | 'onAck'>
}

/**
 * Sends one at a time. An idle queue sends on the next tick; under load, records collect during a send and for
 * `pace.ms`.
 */
export class ProduceQueue {
  readonly #connection: Connection
  readonly #sender: Sender
  readonly #memory: BufferMemory
  readonly #onAck: ProducerOptions['onAck']
  readonly #pacer: Pacer
  readonly #stallWatch: StallWatch
  readonly #waiting = createFairQueue<Queued, Batch>((batch, place) => this.#make(batch, place))
  readonly #unwritable = new UnwritablePartitions<Queued>(({ batch, place }) => this.#make(batch, place))
  #sending: readonly Queued[] = []
  #running: Promise<void> | undefined
  /** Only while records are queued, so that an idle process sleeps. */
  #sweep: NodeJS.Timeout | undefined
  /** A lower bound of all deadlines. */
  #soonest = Number.POSITIVE_INFINITY
  #closed = false

  constructor({ connection, sender, memory, options }: ProduceQueueParts) {
    this.#connection = connection
    this.#sender = sender
    this.#memory = memory
    this.#onAck = options.onAck
    this.#pacer = new Pacer(options.pace)
    this.#stallWatch = new StallWatch(connection)
  }

  add(
    list: MeasuredList,
    { deadlineMs = Number.POSITIVE_INFINITY, flow = '' }: ProduceOptions,
  ): Promise<Produced> {
    const { count, record, bytes, largest } = list
    if (count === 0) return Promise.resolve('acked')
    if (this.#closed) return Promise.resolve('unknown')
    if (this.#memory.isFull(flow)) return Promise.resolve('full')
    if (largest > MAX_RECORD_BYTES) return Promise.resolve('too_large')
    const pending = openPending(count, performance.now() + deadlineMs)
    this.#soonest = Math.min(this.#soonest, pending.deadline)
    const areAlone = this.#memory.queuedBytes === 0
    this.#memory.take(flow, bytes)
    this.#waiting.add(flow, { count, record, pending, bytes, flow })
    this.#pacer.added(count, areAlone)
    this.#running ??= this.#run()
    this.#sweep ??= setInterval(() => this.#onSweep(performance.now()), SWEEP_MS).unref()
    return pending.outcome
  }

  async #run(): Promise<void> {
    let wasRetry = false
    while (!this.#closed && !this.#isEmpty()) {
      await this.#untilNextSend()
      wasRetry = await this.#sendNext(wasRetry)
    }
    // no await since the queue was empty, so no record is left behind
    this.#running = undefined
  }

  #isEmpty(): boolean {
    return this.#waiting.isEmpty() && this.#unwritable.isEmpty()
  }

  #untilNextSend(): Promise<void> {
    // all queued records may be for unwritable partitions
    if (this.#waiting.isEmpty()) return this.#pacer.idle(this.#unwritable.dueAt() - performance.now())
    return this.#pacer.collect()
  }

  /** @returns whether it was a retry. */
  async #sendNext(wasRetry: boolean): Promise<boolean> {
    const { records, isRetry } = this.#nextSend(wasRetry, performance.now())
    if (records.length === 0) return false
    const began = performance.now()
    this.#sending = records
    this.#stallWatch.began(records, began)
    const left = await (isRetry ? this.#retry(records) : this.#sendFirst(records, began))
    // their deadline may have passed meanwhile
    if (left > 0) this.#soonest = 0
    const ended = performance.now()
    const acked = records.length - left
    this.#stallWatch.ended(acked, ended)
    if (acked > 0) this.#onAck?.({ records: acked, seconds: (ended - began) / 1000 })
    this.#sending = []
    return isRetry
  }

  /** Alternates between records that waited for an unwritable partition and the others. */
  #nextSend(wasRetry: boolean, now: number): Send {
    const isTurnOfOthers = wasRetry && !this.#waiting.isEmpty()
    const due = isTurnOfOthers ? [] : this.#unwritable.takeDue(now)
    if (due.length > 0) return { records: due, isRetry: true }
    return { records: this.#waiting.next(), isRetry: false }
  }

  /** @returns how many could not be written yet. */
  async #sendFirst(records: readonly Queued[], now: number): Promise<number> {
    this.#pacer.sent(records.length, now)
    const left = await this.#sender.send(records, this.#settle, (...at) => this.#unwritable.has(...at))
    this.#unwritable.add(left, performance.now())
    return left.length
  }

  /** @returns how many still cannot be written. */
  async #retry(records: readonly Queued[]): Promise<number> {
    const left = await this.#sender.send(records, this.#settle)
    this.#unwritable.putBack(left, performance.now())
    return left.length
  }

  #make(batch: Batch, place: number): Queued {
    const record = batch.record(place)
    const message = messageOf(record)
    return { topic: this.#connection.named(record.topic), message, bytes: sizeOf(message), batch, place }
  }

  readonly #settle = ({ batch }: Pick<Queued, 'batch'>, outcome: 'acked' | 'refused'): void => {
    if (batch.pending.ended(outcome)) this.#memory.release(batch.flow, batch.bytes)
  }

  #onSweep(now: number): void {
    this.#expire(now)
    this.#stallWatch.check(now)
    if (!this.#running) this.#endSweep()
  }

  #endSweep(): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #expire(now: number): void {
    if (now < this.#soonest) return
    const sending = this.#sending.map(({ batch }) => batch)
    const unwritable = this.#unwritable.all().map(({ batch }) => batch)
    const sendable = [...sending, ...this.#waiting.waiting()]
    const { late, dropped, nextAt } = expiryOf({ sendable, unwritable }, now)
    this.#soonest = nextAt
    for (const { pending } of late) pending.settle('unknown')
    for (const record of this.#unwritable.remove(({ batch }) => dropped.has(batch)))
      this.#settle(record, 'refused')
  }

  stalledMs(): number {
    return this.#stallWatch.stalledMs(performance.now(), this.unwritableMs())
  }

  unwritableMs(): number {
    const since = this.#unwritable.since()
    return since === undefined ? 0 : performance.now() - since
  }

  async close(drainMs: number): Promise<void> {
    const end = performance.now() + drainMs
    while (this.#running && performance.now() < end) await within(end - performance.now(), this.#running)
    this.#closed = true
    this.#endSweep()
    this.#expire(Number.POSITIVE_INFINITY)
    this.#waiting.clear()
    this.#pacer.stop()
    await this.#sender.close()
  }
}

function messageOf({ key, value, partition, headers }: OutRecord): Keyed {
  const message: Keyed = { key: typeof key === 'string' ? Buffer.from(key) : key, value, placed: undefined }
  if (partition !== undefined) message.partition = partition
  if (headers) message.headers = headers
  return message
}
