import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EachBatchPayload } from 'kafkajs'
import type { Attributes, Tracer } from '../../trace/trace.ts'
import type { Connection } from '../client.ts'
import { FEW } from '../patches/consumer/fetch-wait.ts'
import { park, parkedRecord } from '../produce/park.ts'
import type { Producer } from '../produce/produce.ts'
import { batchFaultOf } from '../protocol/decode-batches.ts'
import type { Assignment, Held } from './assignment.ts'
import type { ConsumerRecord, Contents, Decoded, Handler, Hold, Message, Rest } from './record.ts'
import { inTrace } from './spans.ts'

export type HandleOptions<T> = {
  connection: Connection
  codec: { decode(value: Buffer | null): Decoded<T> | Promise<Decoded<T>> }
  handle: Handler<T>
  producer: Pick<Producer, 'produce'>
  /** The consumer has stopped for good: the process should restart. */
  onFatal: (error: Error) => void
  onParked?: () => void
  tracer?: Pick<Tracer, 'process'> | undefined
  describe?: (value: T) => Attributes
}

type Placed = Pick<ConsumerRecord<unknown>, 'topic' | 'partition' | 'offset' | 'settle' | 'release'>

/** Shorter than the interval of heartbeats, because the first one is already late. */
const HEARTBEAT_CHECK_MS = 250
/** The longest pause for a schema. It ends when the registry answers. */
const MAX_SCHEMA_PAUSE_MS = 60_000
const SLOW_SCHEMA_MS = 1_000

export class BatchHandler<T> {
  closing = false
  readonly #options: HandleOptions<T>
  readonly #groupId: string
  readonly #assignment: Assignment
  readonly #parkedCounts = new Map<string, number>()
  /** Records handled in this turn of the event loop. */
  #sinceTurn = 0

  constructor(options: HandleOptions<T>, groupId: string, assignment: Assignment) {
    this.#options = options
    this.#groupId = groupId
    this.#assignment = assignment
  }

  async eachBatch({ batch, heartbeat, resolveOffset, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const assignment = this.#assignment
    const held = await withHeartbeats(assignment.held(batch.topic, batch.partition), heartbeat)
    if (!held?.owned || !assignment.isHeld(held) || this.closing || !isRunning() || isStale()) return
    held.end = Number(batch.highWatermark)
    const { last, restUntil, goesOn } = this.#handleAll(held, batch.messages)
    // once per batch: kafkajs counts in 64-bit objects; before any await: another member may have the partition
    // afterwards
    if (last) resolveOffset(last.offset)
    const isFull = assignment.pauseIfFull(held)
    if (!goesOn) return
    if (!isFull && restUntil > Date.now()) assignment.pauseUntil(held, restUntil)
    this.#sinceTurn += batch.messages.length
    if (this.#sinceTurn < FEW) return
    // otherwise all batches of a fetch share one turn and delay acknowledgements
    await nextTurn()
    this.#sinceTurn = 0
  }

  /** @returns `goesOn`: false if the partition is paused after `last`. */
  #handleAll(held: Held, messages: readonly Message[]) {
    let restUntil = 0
    let last: Message | undefined
    for (const message of messages) {
      const decoded = this.#decode(message)
      if (decoded instanceof Promise) {
        this.#waitForSchema(held, message, decoded)
        return { last, restUntil, goesOn: false }
      }
      const outcome = this.#take(held, message, decoded)
      if (outcome === false) return { last, restUntil, goesOn: false }
      if (outcome !== true) ({ restUntil } = outcome)
      last = message
    }
    return { last, restUntil, goesOn: true }
  }

  /** A batch that cannot be decoded comes as one message and is parked unchanged. */
  #decode(message: Message): Decoded<T> | Promise<Decoded<T>> {
    const fault = batchFaultOf(message)
    if (!fault) return this.#options.codec.decode(message.value)
    const { firstOffset, lastOffset, reason } = fault
    const text = `the batch of offsets ${firstOffset} to ${lastOffset} cannot be decoded: ${reason}`
    return { ok: false, reason: 'undecodable', message: text }
  }

  /** @returns false if the partition is paused at this message. */
  #take(held: Held, message: Message, decoded: Decoded<T>): boolean | Rest {
    if (!held.tracker.take(Number(message.offset), Number(message.timestamp))) return true
    const record = this.#recordOf(held, message, decoded.ok ? decoded.value : (undefined as T))
    if (!decoded.ok) {
      this.#park(record, message, `${decoded.reason}: ${decoded.message}`)
      return true
    }
    const pause = this.#handle(held, record, message) ?? true
    if (pause === true || 'restUntil' in pause) return pause
    record.release()
    this.#assignment.pauseUntil(held, pause.holdUntil)
    return false
  }

  /** No closure may use `value`: a waiting record must not keep it in memory. */
  #recordOf(held: Held, message: Message, value: T): ConsumerRecord<T> {
    const offset = Number(message.offset)
    const { partition } = held
    const topic = this.#options.connection.plain(held.topic)
    const settle = () => this.#assignment.settle(held, offset)
    const release = () => held.tracker.release(offset)
    return {
      topic,
      partition,
      offset,
      timestamp: Number(message.timestamp),
      key: message.key?.toString() ?? '',
      value,
      settle,
      owned: () => held.owned && !this.closing,
      release,
      park: (contents, reason) => this.#park({ topic, partition, offset, settle, release }, contents, reason),
    }
  }

  /** Never throws: an error would stop the consumer. */
  #handle({ topic }: Held, record: ConsumerRecord<T>, message: Message): Hold | Rest | undefined {
    const { tracer, describe, handle } = this.#options
    try {
      // the span of a record that asks to wait is never reported: the record comes again
      const where = tracer && { topic, group: this.#groupId, headers: message.headers, describe }
      return handle(where ? inTrace(tracer, record, where) : record, message)
    } catch (error) {
      record.park(message, String(error))
      return undefined
    }
  }

  #park(record: Placed, message: Contents, reason: string): void {
    const { connection, producer, onParked, onFatal } = this.#options
    const { topic, partition, offset } = record
    connection.log.error({ topic, partition, offset, reason }, 'a record cannot be handled; it is parked')
    park(producer, parkedRecord({ topic, partition, offset, message, reason })).then((outcome) => {
      if (outcome === 'acked') {
        onParked?.()
        this.#parkedCounts.set(topic, this.parked(topic) + 1)
        record.settle()
        return
      }
      record.release()
      if (!this.closing) onFatal(new Error(`a record could be neither handled nor parked: ${outcome}`))
    }, onFatal)
  }

  parked(topic: string): number {
    return this.#parkedCounts.get(topic) ?? 0
  }

  /** Only this partition waits. The record comes again once the registry answers. */
  #waitForSchema(held: Held, { offset }: Message, answer: Promise<unknown>): void {
    const { topic, partition } = held
    const slow = setTimeout(() => {
      const place = { topic, partition, offset }
      this.#options.connection.log.warn(place, 'the schema registry has not answered; the partition waits')
    }, SLOW_SCHEMA_MS).unref()
    this.#assignment.pauseUntil(held, Date.now() + MAX_SCHEMA_PAUSE_MS)
    const resume = () => {
      clearTimeout(slow)
      if (held.paused === 'until') this.#assignment.pauseUntil(held, Date.now())
    }
    answer.then(resume, resume)
  }
}

/**
 * Keeps the member in its group. With a slow broker, reading the start positions takes longer than the session lasts:
 * without heartbeats, the member would lose it after each join.
 * @throws if it must join again.
 */
async function withHeartbeats<T>(work: Promise<T>, heartbeat: () => Promise<void>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const beating = setInterval(() => void heartbeat().catch(reject), HEARTBEAT_CHECK_MS)
  try {
    return await Promise.race([work, over])
  } finally {
    clearInterval(beating)
  }
}
