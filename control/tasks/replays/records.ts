import { type ConsumerRecord, type Handler, holdFor, type Message } from '../../../kafka/consume/record.ts'
import type { OutRecord, Produced, Producer } from '../../../kafka/produce/produce.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import { createSlices, type Slices } from '../../../process/slices.ts'
import type { TokenBucket } from '../../../process/token-bucket.ts'
import type { Codec } from '../../../schemas/codec.ts'
import { rulesFailedRecord } from '../../../schemas/dead-record.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Replay } from '../../../schemas/task.ts'
import { DUE } from '../../../schemas/topics.ts'
import type { Processed, Trace } from '../../../trace/trace.ts'

/** `failed`: the rules failed, so the delivery is a dead letter. */
export type Made = { delivery: Delivery; key: string; failed?: { code: string; event: PartitionOffset } }
export type Unmade = { unmade: string }
/** Needs more than the record. Ignore the result once the record is no longer `owned`. */
export type Later = { later: (owned: () => boolean) => Promise<Made | Unmade | undefined> }

export type Counts = Pick<Replay, 'read' | 'replayed' | 'parked'>

export type Replaying<T> = {
  ranges: readonly Range[]
  /** @returns undefined if the record is skipped. */
  make: (
    record: Pick<ConsumerRecord<T>, 'key' | 'value' | 'timestamp' | 'partition' | 'offset'>,
    headers: Message['headers'],
  ) => Made | Later | Unmade | undefined
  rate: TokenBucket
  counts: Counts
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  encode: Codec<Delivery>['encode']
  /** Undefined while traces are off. */
  traced?: ((of: Pick<Processed, 'partition' | 'offset' | 'headers'>, made: Delivery) => Trace) | undefined
  /** For rules of past events. */
  slices?: Pick<Slices, 'isSpent'>
}

/** Each resume costs a fetch. */
const REST_MS = 50
/** The producer refuses records far beyond it, and they would be parked. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024
/** Nothing is left to read. */
const BEYOND_MS = 60_000

/** Writes to the topic of retries, whose separate lane keeps replays from delaying first attempts. */
export function replayHandler<T>(replaying: Replaying<T>): Handler<T> {
  const { ranges, make, rate, producer, slices = createSlices() } = replaying
  const ends = new Map(ranges.map(({ partition, to }) => [partition, to]))
  return (record, message) => {
    const { partition, offset } = record
    if (offset >= (ends.get(partition) ?? 0)) return holdFor(BEYOND_MS)
    if (producer.queuedBytes() > MAX_QUEUED_BYTES) return holdFor(REST_MS)
    if (slices.isSpent()) return { holdUntil: Date.now() }
    const made = make(record, message.headers)
    if (!made || 'unmade' in made) {
      finish({ record, message, made }, replaying)
      return undefined
    }
    // monotonic: a wall clock set back an hour would stop the replay as long
    const now = performance.now()
    if (!rate.allows(now)) return holdFor(REST_MS)
    rate.take(now)
    if ('later' in made)
      made
        .later(record.owned)
        .then((later) => {
          if (record.owned()) finish({ record, message, made: later }, replaying)
          else record.release()
        })
        .catch((error: unknown) => record.park(message, String(error)))
    else finish({ record, message, made }, replaying)
    return undefined
  }
}

type Ending<T> = { record: ConsumerRecord<T>; message: Message; made: Made | Unmade | undefined }

function finish<T>({ record, message, made }: Ending<T>, replaying: Replaying<T>): void {
  if (!made) markRead(record, replaying)
  else if ('unmade' in made) record.park(message, `it cannot be replayed: ${made.unmade}`)
  else {
    const { producer, traced } = replaying
    const { partition, offset } = record
    const trace = traced?.({ partition, offset, headers: message.headers }, made.delivery)
    void producer.produce([recordOf(made, replaying)], { trace }).then((outcome) => {
      trace?.end(outcome === 'acked' ? undefined : outcome)
      settleRecord({ record, message, outcome }, replaying)
    })
  }
}

function recordOf({ delivery, key, failed }: Made, { encode }: Pick<Replaying<never>, 'encode'>): OutRecord {
  if (failed) return rulesFailedRecord({ delivery, key, code: failed.code }, failed.event, encode)
  return { topic: DUE, key, value: encode(delivery) }
}

function markRead<T>(record: ConsumerRecord<T>, { counts }: Replaying<T>): void {
  counts.read += 1
  record.settle()
}

type Written<T> = { record: ConsumerRecord<T>; message: Message; outcome: Produced }

/** `unknown` occurs only at shutdown. The next process makes the delivery again. */
function settleRecord<T>({ record, message, outcome }: Written<T>, replaying: Replaying<T>): void {
  if (outcome === 'unknown') record.release()
  else if (outcome === 'acked') {
    replaying.counts.replayed += 1
    markRead(record, replaying)
  } else record.park(message, `it cannot be replayed: ${outcome}`)
}
