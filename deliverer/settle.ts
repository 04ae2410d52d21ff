import type { Ladder, Next } from '../delivery/ladder.ts'
import type { Taken } from '../kafka/consume/record.ts'
import { PARKED, park } from '../kafka/produce/park.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import type { Logger } from '../process/log.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { DEAD, rungTopic } from '../schemas/topics.ts'
import type { Trace } from '../trace/trace.ts'
import { cancelled, gather } from './attempt-log.ts'
import { defer } from './defer.ts'

export type Result = Next | { kind: 'cancelled'; code: string }
type Cancelled = Extract<Result, { kind: 'cancelled' }>
type Following = Exclude<Result, { kind: 'done' } | Cancelled>

export type SettlerParts = {
  producer: Pick<Producer, 'produce'>
  /** For topic `attempts` alone. */
  attemptProducer: Pick<Producer, 'produce' | 'stalledMs'>
  ladder: Pick<Ladder, 'ladder'>
  deliveries: Pick<Codec<Delivery>, 'encode'>
  attempts: Pick<Codec<Attempt>, 'encode'>
  log: Pick<Logger, 'error'>
  onSettled: (result: Result, delivery: Delivery) => void
  /** A delivery could be neither written nor kept: the process should end, so that it is read again. */
  onFatal: (error: Error) => void
}

const MAX_REASON = 1_024
/** So long a delivery that is cancelled waits for its record in `attempts`. */
const CANCEL_MS = 5_000
/**
 * A dead endpoint's deliveries are put off one by one as they come, and those of one that was switched off are cancelled. Nobody waits for them, no
 * POST was made that a crash would repeat, and when they are due is settled: Kafka gets them together, which costs it as much as one.
 */
const WITHOUT_POST_TOGETHER = { mostItems: 200, lingerMs: 50 }

/** The one place where what was decided on a delivery becomes a record, and where the delivery is settled. */
export function settler(parts: SettlerParts) {
  const { producer, attemptProducer, deliveries, attempts, log, onSettled, onFatal } = parts
  /** Without an end: what is cancelled is no dead letter. */
  const endless = { ...parts.ladder, windowMs: Number.POSITIVE_INFINITY }
  const withoutPost = gather<() => void>(WITHOUT_POST_TOGETHER, (writes) => {
    for (const beginOne of writes) beginOne()
  })

  /** Settles when Kafka has the next record; not written it is done again by whoever reads it next. */
  async function write(record: Taken<Delivery>, result: Following): Promise<void> {
    const outcome = await producer.produce([nextRecord(record, result)], { trace: record.trace })
    if (outcome === 'unknown') return record.release()
    if (outcome !== 'acked') return putAside(record, `its next record cannot be written: ${outcome}`)
    end(record, result)
  }

  /**
   * Settles when topic `attempts` has it, which alone says so. While that takes no writes the delivery waits on a rung, not here, where
   * it would hold up the others of its partition; then it is cancelled again, and may be in `attempts` twice.
   */
  async function cancel(record: Taken<Delivery>, result: Cancelled): Promise<void> {
    const { value: delivery, trace } = record
    const now = Date.now()
    const outcome =
      attemptProducer.stalledMs() > CANCEL_MS
        ? 'full'
        : await attemptProducer.produce([cancelled(delivery, { code: result.code, codec: attempts, now })], {
            deadlineMs: CANCEL_MS,
            trace,
          })
    if (outcome === 'acked') return end(record, result)
    if (outcome !== 'unknown' && outcome !== 'full')
      return putAside(record, `its next record cannot be written: ${outcome}`)
    const next = defer(delivery, Number.POSITIVE_INFINITY, Date.now(), endless)
    if (next.kind !== 'done') await write(record, next)
  }

  function nextRecord({ key }: Taken<Delivery>, result: Following): OutRecord {
    const value = deliveries.encode(result.delivery)
    if (result.kind === 'dead') return { topic: DEAD, key, value, headers: { reason: result.reason } }
    return { topic: rungTopic(result.rung.name), key, value, headers: { dueAt: String(result.dueAt) } }
  }

  function begin(record: Taken<Delivery>, result: Following | Cancelled): void {
    const writing = result.kind === 'cancelled' ? cancel(record, result) : write(record, result)
    writing.catch((error) => putAside(record, String(error)))
  }

  function end(record: Taken<Delivery>, result: Result): void {
    noteResult(record.trace, result)
    onSettled(result, record.value)
    record.settle()
  }

  /** A fault of ours, not of the receiver: the delivery is kept for those who mend it. */
  async function keep(record: Taken<Delivery>, reason: string): Promise<void> {
    const { topic, key, value, trace } = record
    log.error(
      { deliveryId: value.deliveryId, topic, reason },
      'a delivery cannot go on; it is kept in topic parked',
    )
    const headers = {
      ...trace?.headers,
      'parked-topic': topic,
      'parked-reason': reason.slice(0, MAX_REASON),
    }
    trace?.end('parked')
    const outcome = await park(producer, { topic: PARKED, key, value: deliveries.encode(value), headers })
    if (outcome === 'acked') return record.settle()
    record.release()
    // the producer is closed: whoever reads it next goes on with it
    if (outcome !== 'unknown') throw new Error(`a delivery could be neither written nor parked: ${outcome}`)
  }

  const putAside = (record: Taken<Delivery>, reason: string) => keep(record, reason).catch(onFatal)

  return {
    putAside,
    settle(record: Taken<Delivery>, result: Result): void {
      if (result.kind === 'done') end(record, result)
      else if (result.kind === 'defer' || result.kind === 'cancelled')
        withoutPost.add(() => begin(record, result))
      else begin(record, result)
    },
  }
}

/** A delivery that is given up is what somebody looks for. */
function noteResult(trace: Trace | undefined, result: Result): void {
  trace?.note({ 'sluice.outcome': result.kind })
  if (result.kind === 'dead') trace?.end(result.reason)
}
