import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer as KafkaJsProducer, Message, PartitionerArgs, RecordMetadata } from 'kafkajs'
import { tellingFaults } from '../admin/lost-records.ts'
import { CLOSE_MS, type Connection, within } from '../client.ts'
import { partitionKey } from '../log-faults.ts'
import { CompressionTypes } from '../patches/kafkajs.ts'
import { type Placeable, place } from './partition.ts'

/** A message with its key in bytes. */
export type Keyed = Message & Placeable
type Sendable = { topic: string; message: Keyed }

export type Sender = {
  /**
   * Sends until each record is acknowledged by all in-sync replicas, or refused by the broker for good, and tells `settle` of
   * each. Ends before that only when it is closed: what was not told of then is unknown.
   */
  send<T extends Sendable>(records: readonly T[], settle: Settle<T>): Promise<void>
  close(): Promise<void>
}

type Settle<T> = (record: T, outcome: 'acked' | 'refused') => void

const RETRY_MS = 250
const FAILED = 'a send failed; going on with a new producer'
const WRONG_CLOCK =
  "Kafka refuses records for their time, as this machine's clock is too far from the broker's: they are sent again until it is set right"

/**
 * An idempotent producer with one send under way: with more, a lost response makes kafkajs reuse a sequence number for
 * other records, which the broker takes for duplicates, acknowledges and drops. For the same reason a producer whose
 * send has thrown, or needed a second try, is replaced: kafkajs rolls its sequence numbers back, whether or not the broker wrote them, and does
 * so for a try that fails late after the next one has counted on.
 */
export async function createSender(connection: Connection): Promise<Sender> {
  const { kafka, failures } = connection
  const noticeLoss = noticingLoss(tellingFaults({ connection, seenBy: 'producer' }))
  let closed = false
  /** Whether the producer's last send needed a second try: requests of the first may still be under way to other brokers. */
  let doubtful = false
  let producer = await open()

  function placeOf({ message, partitionMetadata }: PartitionerArgs): number {
    // only what `send` was given comes here
    const record = message as Keyed
    if (record.placed !== undefined) doubtful = true
    return place(record, partitionMetadata.length)
  }

  async function open(): Promise<KafkaJsProducer> {
    const fresh = kafka.producer({
      allowAutoTopicCreation: false,
      idempotent: true,
      maxInFlightRequests: 1,
      retry: { initialRetryTime: 100, maxRetryTime: 500, retries: Number.MAX_SAFE_INTEGER },
      createPartitioner: () => placeOf,
    })
    try {
      await fresh.connect()
      doubtful = false
      return fresh
    } catch (error) {
      await fresh.disconnect().catch(() => undefined)
      throw error
    }
  }

  async function replace(): Promise<void> {
    await producer.disconnect().catch(() => undefined)
    for (;;) {
      try {
        producer = await open()
        if (closed) await producer.disconnect().catch(() => undefined)
        return
      } catch (error) {
        if (closed) return
        failures.add({ kind: 'producer', text: 'a producer cannot connect, trying again', err: error })
        await sleep(RETRY_MS)
      }
    }
  }

  /** @returns the records that are not acknowledged yet, in their order. */
  async function attempt<T extends Sendable>(records: readonly T[], settle: Settle<T>): Promise<T[]> {
    for (const { message } of records) message.placed = undefined
    const topicMessages = byTopic(records)
    const acks = await producer.sendBatch({ acks: -1, compression: CompressionTypes.None, topicMessages })
    const acked = byPartition(acks)
    const left: T[] = []
    for (const record of records) {
      const written = acked.get(record.topic)?.get(record.message.placed ?? -1)
      if (written) {
        written.count += 1
        settle(record, 'acked')
        // when a partition's leader moves to a broker that has answered already, kafkajs forgets the partition
      } else left.push(record)
    }
    noticeLoss(acked)
    return left
  }

  async function send<T extends Sendable>(records: readonly T[], settle: Settle<T>): Promise<void> {
    let left = records
    while (left.length > 0 && !closed) {
      try {
        if (doubtful) await replace()
        left = await attempt(left, settle)
      } catch (error) {
        if (closed) return
        const fields = { topics: [...new Set(left.map(({ topic }) => topic))], records: left.length }
        const text = isOfClock(error) ? WRONG_CLOCK : FAILED
        failures.add({
          kind: `send ${fields.topics}`,
          text,
          err: error,
          fields,
          isFinal: isRecordFault(error),
        })
        await replace()
        const [only] = left
        if (!isRecordFault(error) || !only) await sleep(RETRY_MS)
        else if (left.length === 1) return settle(only, 'refused')
        else return oneByOne(left, settle)
      }
    }
  }

  async function oneByOne<T extends Sendable>(records: readonly T[], settle: Settle<T>): Promise<void> {
    for (const record of records) await send([record], settle)
  }

  return {
    send,
    async close() {
      closed = true
      await within(CLOSE_MS, producer.disconnect())
    },
  }
}

/**
 * What is acknowledged gets higher and higher offsets. One that is not above the last has taken the place of records that were acknowledged
 * before: their log has lost its end, or is another one.
 */
export function noticingLoss(tell: ReturnType<typeof tellingFaults>): (acked: Acked) => void {
  const ends = new Map<string, number>()
  return (acked) => {
    for (const [topic, partitions] of acked)
      for (const [partition, { base, count }] of partitions) {
        if (base < 0) continue
        const key = partitionKey(topic, partition)
        const end = ends.get(key) ?? 0
        ends.set(key, base + count)
        if (base < end) tell({ topic, partition, cause: 'truncated', offset: end, to: base })
      }
  }
}

/** By topic and partition: the offset of the first record, -1 when the broker does not say it, and how many there are. */
type Acked = ReadonlyMap<string, ReadonlyMap<number, { base: number; count: number }>>

/** @returns what has been answered; the records are still to be counted. */
function byPartition(acks: readonly RecordMetadata[]) {
  const topics = new Map<string, Map<number, { base: number; count: number }>>()
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

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/**
 * Faults of a record, not of the moment: one such record fails its whole request. INVALID_TIMESTAMP is none: a record's time is that of
 * sending, so it is this clock that is too far from the broker's (by an hour unless the topic says otherwise), until it is set right.
 */
const RECORD_FAULTS = new Set([...TOO_LARGE, 'INVALID_RECORD', 'CORRUPT_MESSAGE'])

/** Whether the broker refuses what was sent, and would refuse it again. */
export const isRecordFault = (error: unknown): boolean => isOf(RECORD_FAULTS, error)

/** Whether that is for its size: more than its topic's `max.message.bytes`. */
export const isTooLarge = (error: unknown): boolean => isOf(TOO_LARGE, error)

/** Whether it is for the time that this machine's clock has given it. */
export const isOfClock = (error: unknown): boolean => isOf(new Set(['INVALID_TIMESTAMP']), error)

function isOf(types: ReadonlySet<string>, error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('type' in cause && typeof cause.type === 'string' && types.has(cause.type)) return true
  return false
}
