import type { IHeaders } from 'kafkajs'
import type { Trace } from '../../trace/trace.ts'
import { createFaultReporter } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { AckedEnds, compareAfterElections } from './acked-ends.ts'
import { BufferMemory, type MeasuredList, measureAll, measureFirst } from './queue/buffer-memory.ts'
import type { Pace } from './queue/pacer.ts'
import { ProduceQueue } from './queue/queue.ts'
import { createSender } from './send.ts'

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
   * Records of one flow are sent in order. Flows share the sends (queue/fair-queue.ts), and a flow that fills the queue
   * leaves room for others.
   */
  flow?: string | undefined
}

/**
 * `unknown`: no acknowledgement before the deadline or the close; the records may still be written. `full`: too many
 * bytes wait. `too_large`, `refused`: one record cannot be written.
 */
export type Produced = 'acked' | 'unknown' | 'full' | 'too_large' | 'refused'

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
  /** How long records have waited for unwritable partitions (queue/unwritable.ts); 0 if none wait. */
  unwritableMs(): number
  close(drainMs?: number): Promise<void>
}

export type ProducerOptions = {
  maxQueuedBytes?: number
  pace?: Pace
  onAck?: (ack: { records: number; seconds: number }) => void
}

export async function createProducer(
  connection: Connection,
  options: ProducerOptions = {},
): Promise<Producer> {
  const report = createFaultReporter({ connection, seenBy: 'producer' })
  const ends = new AckedEnds(report, () => void connection.elections.emit('election'))
  const sender = await createSender(connection, ends)
  const memory = new BufferMemory(options.maxQueuedBytes)
  const queue = new ProduceQueue({ connection, sender, memory, options })
  const endComparing = compareAfterElections(connection, ends)

  function produce(list: MeasuredList, options: ProduceOptions = {}): Promise<Produced> {
    const { trace } = options
    if (!trace || list.count === 0) return queue.add(list, options)
    const sent = { topic: connection.named(list.record(0).topic), count: list.count }
    return sendIn<OutRecord>(trace, sent, (traced) =>
      queue.add({ ...list, record: (place) => traced(list.record(place)) }, options),
    )
  }

  return {
    produce: (records, options) => produce(measureAll(records), options),
    produceList: (list, options) => produce(measureFirst(list), options),
    isFull: (flow) => memory.isFull(flow),
    queuedBytes: () => memory.queuedBytes,
    stalledMs: () => queue.stalledMs(),
    unwritableMs: () => queue.unwritableMs(),
    close(drainMs = 10_000) {
      endComparing()
      return queue.close(drainMs)
    },
  }
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
