import { park } from '../kafka/parked.ts'
import type { OutRecord, Producer } from '../kafka/produce.ts'
import type { Taken } from '../kafka/taken.ts'
import type { Logger } from '../log.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { DEAD, PARKED, rungTopic } from '../schemas/topics.ts'
import type { Trace } from '../trace/trace.ts'
import { cancelled } from './attempt-log.ts'
import { gather } from './gather.ts'
import type { Next } from './ladder.ts'

export type Result = Next | { kind: 'cancelled'; code: string }
type Following = Exclude<Result, { kind: 'done' }>

export type SettlerParts = {
  producer: Pick<Producer, 'produce'>
  deliveries: Pick<Codec<Delivery>, 'encode'>
  attempts: Pick<Codec<Attempt>, 'encode'>
  log: Pick<Logger, 'error'>
  onSettled: (result: Result, delivery: Delivery) => void
  /** A delivery could be neither written nor kept: the process should end, so that it is read again. */
  onFatal: (error: Error) => void
}

const MAX_REASON = 1_024
/**
 * A dead endpoint's deliveries are put off one by one as they come, and those of one that was switched off are cancelled. Nobody waits for them, no
 * POST was made that a crash would repeat, and when they are due is settled: Kafka gets them together, which costs it as much as one.
 */
const WITHOUT_POST_TOGETHER = { mostItems: 200, lingerMs: 50 }

/** The one place where what was decided on a delivery becomes a record, and where the delivery is settled. */
export function settler({ producer, deliveries, attempts, log, onSettled, onFatal }: SettlerParts) {
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

  function nextRecord({ key, value: delivery }: Taken<Delivery>, result: Following): OutRecord {
    if (result.kind === 'cancelled')
      return cancelled(delivery, { code: result.code, codec: attempts, now: Date.now() })
    const value = deliveries.encode(result.delivery)
    if (result.kind === 'dead') return { topic: DEAD, key, value, headers: { reason: result.reason } }
    return { topic: rungTopic(result.rung.name), key, value, headers: { dueAt: String(result.dueAt) } }
  }

  function begin(record: Taken<Delivery>, result: Following): void {
    write(record, result).catch((error) => putAside(record, String(error)))
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
