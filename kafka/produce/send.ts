import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer as KafkaJsProducer, Message, PartitionerArgs, RecordMetadata } from 'kafkajs'
import { perObject } from '../../process/per-object.ts'
import { within } from '../../process/timeout.ts'
import { untilBack } from '../admin/failures.ts'
import { CLOSE_MS, type Connection } from '../client.ts'
import { NOT_SENT } from '../patches/group-messages.ts'
import { CompressionTypes } from '../patches/kafkajs.ts'
import { partitionKey } from '../topic-partition.ts'
import type { Acked, AckedEnds, AckedPart } from './acked-ends.ts'
import { type Placeable, place } from './partition.ts'

type Metadata = PartitionerArgs['partitionMetadata']
/**
 * `metadata`: of its topic's partitions, when it was placed. `waits`: its partition does not exist, has no leader or has
 * too few in-sync replicas.
 */
export type Keyed = Message & Placeable & { metadata?: Metadata; waits?: boolean }
type Sendable = { topic: string; message: Keyed }

export type Sender = {
  /**
   * Calls `settle` for each record once all in-sync replicas have acknowledged it, or the broker refuses it for good.
   * Ends early only when closed; the other outcomes are then unknown.
   * @param isBehind whether earlier records of the partition are waiting.
   * @returns the records that must wait: their partition cannot be written now, or earlier ones wait. In order.
   */
  send<T extends Sendable>(records: readonly T[], settle: Settle<T>, isBehind?: IsBehind): Promise<T[]>
  close(): Promise<void>
}

type Settle<T> = (record: T, outcome: 'acked' | 'refused') => void
type IsBehind = (topic: string, partition: number) => boolean

const RETRY_MS = 250
const FAILED = 'a send failed; trying again with a new producer'
const SHORT = 'partitions have fewer in-sync replicas than min.insync.replicas, and their records wait'
const WRONG_CLOCK =
  "Kafka refuses records for their time: this machine's clock is too far from the broker's. They are sent again until the clock is right"

/**
 * An idempotent producer with one send in flight. With more, a lost response makes kafkajs reuse sequence numbers: the
 * broker acknowledges and drops new records as duplicates. A send that threw or needed a second try also rolls the
 * numbers back, so its producer is replaced (docs/decisions/002-client-guards.md).
 */
export async function createSender(connection: Connection, ends: Pick<AckedEnds, 'add'>): Promise<Sender> {
  const sender = new IdempotentSender(connection, ends)
  await untilBack(() => sender.open())
  return sender
}

class IdempotentSender implements Sender {
  readonly #connection: Connection
  readonly #ends: Pick<AckedEnds, 'add'>
  #producer: KafkaJsProducer | undefined
  /** Requests from the last send's first try may still be on their way. */
  #doubtful = false
  #isBehind: IsBehind = () => false
  /** Partitions whose last answer was that they have too few in-sync replicas. */
  readonly #short = new Set<string>()
  #closed = false

  constructor(connection: Connection, ends: Pick<AckedEnds, 'add'>) {
    this.#connection = connection
    this.#ends = ends
  }

  async open(): Promise<void> {
    const producer = this.#connection.kafka.producer({
      allowAutoTopicCreation: false,
      idempotent: true,
      maxInFlightRequests: 1,
      retry: { initialRetryTime: 100, maxRetryTime: 500, retries: Number.MAX_SAFE_INTEGER },
      createPartitioner: () => this.#placeOf,
    })
    try {
      await producer.connect()
      this.#doubtful = false
      this.#producer = producer
    } catch (error) {
      await producer.disconnect().catch(() => undefined)
      throw error
    }
  }

  #placeOf = ({ topic, message, partitionMetadata }: PartitionerArgs): number => {
    // kafkajs passes the messages that `send` gave it
    const record = message as Keyed
    if (record.placed !== undefined) this.#doubtful = true
    record.metadata = partitionMetadata
    const partition = place(record, partitionMetadata.length)
    const isMissing = partition >= partitionMetadata.length
    record.waits =
      isMissing || leaderlessIn(partitionMetadata).has(partition) || this.#isBehind(topic, partition)
    return record.waits ? NOT_SENT : partition
  }

  async send<T extends Sendable>(
    records: readonly T[],
    settle: Settle<T>,
    isBehind: IsBehind = () => false,
  ): Promise<T[]> {
    const waiting: T[] = []
    let left = records
    while (left.length > 0 && !this.#closed) {
      try {
        this.#isBehind = isBehind
        if (this.#doubtful) await this.#replace()
        const unwritten = await this.#attempt(left, settle)
        waiting.push(...unwritten.filter(({ message }) => message.waits))
        left = unwritten.filter(({ message }) => !message.waits)
      } catch (error) {
        if (this.#closed) break
        this.#reportFailure(left, error)
        await this.#replace()
        const [only] = left
        if (!isRecordFault(error) || !only) await sleep(RETRY_MS)
        else if (left.length > 1) return [...waiting, ...(await this.#sendOneByOne(left, settle, isBehind))]
        else {
          settle(only, 'refused')
          break
        }
      }
    }
    return waiting
  }

  /** @returns the records that are not acknowledged, in order. */
  async #attempt<T extends Sendable>(records: readonly T[], settle: Settle<T>): Promise<T[]> {
    for (const { message } of records) message.placed = undefined
    const topicMessages = byTopic(records)
    const batch = { acks: -1, compression: CompressionTypes.None, topicMessages }
    const answers = (await this.#producer?.sendBatch(batch)) ?? []
    const acked = byPartition(answers.filter(({ errorCode }) => !errorCode))
    this.#noteShort(answers)
    const left: T[] = []
    for (const record of records) {
      const { topic, message } = record
      const written = acked.get(topic)?.get(message.placed ?? -1)
      if (written) {
        written.count += 1
        written.leader ??= leaderOf(message)
        settle(record, 'acked')
      } else {
        if (this.#isShort(topic, message)) message.waits = true
        // kafkajs also loses a partition if its leader moves to a broker that has already answered
        left.push(record)
      }
    }
    this.#ends.add(acked)
    return left
  }

  /** See kafka/patches/short-of-replicas.ts. Most tries are at one partition, but the log names all. */
  #noteShort(answers: readonly RecordMetadata[]): void {
    const isAny = answers.some(({ errorCode }) => errorCode)
    if (!isAny && this.#short.size === 0) return
    for (const { topicName, partition, errorCode } of answers) {
      const key = partitionKey(topicName, partition)
      if (errorCode) this.#short.add(key)
      else this.#short.delete(key)
    }
    const fields = { partitions: [...this.#short] }
    if (isAny) this.#connection.failures.add({ kind: SHORT, text: SHORT, fields })
  }

  #isShort(topic: string, { placed = NOT_SENT }: Keyed): boolean {
    return this.#short.size > 0 && this.#short.has(partitionKey(topic, placed))
  }

  #reportFailure(records: readonly Sendable[], err: unknown): void {
    const fields = { topics: [...new Set(records.map(({ topic }) => topic))], records: records.length }
    const text = isClockFault(err) ? WRONG_CLOCK : FAILED
    const kind = `send ${fields.topics}`
    this.#connection.failures.add({ kind, text, err, fields, isFinal: isRecordFault(err) })
  }

  async #replace(): Promise<void> {
    await this.#producer?.disconnect().catch(() => undefined)
    for (;;) {
      try {
        await this.open()
        if (this.#closed) await this.#producer?.disconnect().catch(() => undefined)
        return
      } catch (err) {
        if (this.#closed) return
        const text = 'a producer cannot connect; trying again'
        this.#connection.failures.add({ kind: 'producer', text, err })
        await sleep(RETRY_MS)
      }
    }
  }

  async #sendOneByOne<T extends Sendable>(
    records: readonly T[],
    settle: Settle<T>,
    isBehind: IsBehind,
  ): Promise<T[]> {
    const waiting: T[] = []
    const behind = new Set<string>()
    const isOneBehind: IsBehind = (topic, partition) =>
      behind.has(partitionKey(topic, partition)) || isBehind(topic, partition)
    for (const record of records)
      for (const left of await this.send([record], settle, isOneBehind)) {
        waiting.push(left)
        behind.add(partitionKey(left.topic, left.message.placed ?? NOT_SENT))
      }
    return waiting
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#producer) await within(CLOSE_MS, this.#producer.disconnect())
  }
}

/** Computed once per answer of a broker, not per record. */
const leaderlessIn = perObject(
  (metadata: Metadata): ReadonlySet<number> =>
    new Set(metadata.filter(({ leader }) => leader < 0).map(({ partitionId }) => partitionId)),
)

const leaderOf = ({ metadata, placed }: Keyed) =>
  metadata?.find(({ partitionId }) => partitionId === placed)?.leader

function byPartition(acks: readonly RecordMetadata[]): Acked {
  const topics = new Map<string, Map<number, AckedPart>>()
  for (const { topicName, partition, baseOffset } of acks) {
    const partitions = topics.get(topicName) ?? new Map()
    topics.set(topicName, partitions.set(partition, { base: Number(baseOffset ?? -1), count: 0 }))
  }
  return topics
}

function byTopic(records: readonly Sendable[]): { topic: string; messages: Message[] }[] {
  const topics = new Map<string, Message[]>()
  for (const { topic, message } of records) {
    const messages = topics.get(topic)
    if (messages) messages.push(message)
    else topics.set(topic, [message])
  }
  return [...topics].map(([topic, messages]) => ({ topic, messages }))
}

const SIZE_FAULTS = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/**
 * Permanent faults. One such record fails its whole request. INVALID_TIMESTAMP is temporary: this machine's clock is
 * wrong, by over an hour by default.
 */
const RECORD_FAULTS = new Set([...SIZE_FAULTS, 'INVALID_RECORD', 'CORRUPT_MESSAGE'])
const CLOCK_FAULTS = new Set(['INVALID_TIMESTAMP'])

export const isRecordFault = (error: unknown): boolean => isType(RECORD_FAULTS, error)

/** A record exceeds its topic's `max.message.bytes`. */
export const isTooLarge = (error: unknown): boolean => isType(SIZE_FAULTS, error)

const isClockFault = (error: unknown): boolean => isType(CLOCK_FAULTS, error)

function isType(types: ReadonlySet<string>, error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('type' in cause && typeof cause.type === 'string' && types.has(cause.type)) return true
  return false
}
