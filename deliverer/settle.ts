import type { Ladder } from '../delivery/ladder.ts'
import type { ConsumerRecord } from '../kafka/consume/record.ts'
import { type Batcher, createBatcher } from '../kafka/produce/batcher.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import { asError } from '../process/thrown.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { DEAD, rungTopic } from '../schemas/topics.ts'
import { cancelled } from './attempt-log.ts'
import { defer, type Settlement, type WithNextRecord } from './decide.ts'

type Cancelled = Extract<Settlement, { kind: 'cancelled' }>

export type SettlerParts = {
  producer: Pick<Producer, 'produce'>
  /** Only for topic `attempts`. */
  attemptProducer: Pick<Producer, 'produce' | 'stalledMs'>
  ladder: Pick<Ladder, 'ladder'>
  deliveries: Pick<Codec<Delivery>, 'encode'>
  attempts: Pick<Codec<Attempt>, 'encode'>
  onSettled: (settlement: Settlement, delivery: Delivery) => void
  /** A delivery can be neither written nor parked: the process should end, so that the record is read again. */
  onFatal: (error: Error) => void
}

/** How long a cancelled delivery waits for its record in `attempts`. */
const CANCEL_MS = 5_000
/** Deferrals and cancellations can wait for a batch, which costs as much as one record: a crash repeats no POST. */
const UNSENT_BATCH = { maxItems: 200, lingerMs: 50 }

type Unsent = { record: ConsumerRecord<Delivery>; settlement: WithNextRecord | Cancelled }

/** Writes a delivery's next record, then settles it. No other code settles deliveries. */
export class Settler {
  readonly #parts: SettlerParts
  readonly #unsent: Batcher<Unsent>

  constructor(parts: SettlerParts) {
    this.#parts = parts
    this.#unsent = createBatcher<Unsent>(UNSENT_BATCH, (batch) => {
      for (const { record, settlement } of batch) this.#begin(record, settlement)
    })
  }

  settle(record: ConsumerRecord<Delivery>, settlement: Settlement): void {
    if (settlement.kind === 'done') this.#end(record, settlement)
    else if (settlement.kind === 'defer' || settlement.kind === 'cancelled')
      this.#unsent.add({ record, settlement })
    else this.#begin(record, settlement)
  }

  #begin(record: ConsumerRecord<Delivery>, settlement: WithNextRecord | Cancelled): void {
    const writing =
      settlement.kind === 'cancelled' ? this.#cancel(record, settlement) : this.#write(record, settlement)
    writing.catch((error) => this.park(record, String(error)))
  }

  /** If the record was not written, the delivery is read again. */
  async #write(record: ConsumerRecord<Delivery>, settlement: WithNextRecord): Promise<void> {
    const { producer, deliveries } = this.#parts
    const next = nextRecord(record.key, settlement, deliveries.encode(settlement.delivery))
    const outcome = await producer.produce([next], { trace: record.trace })
    if (outcome === 'unknown') return record.release()
    if (outcome !== 'acked') return this.park(record, `its next record cannot be written: ${outcome}`)
    this.#end(record, settlement)
  }

  /**
   * Settles when `attempts` has the record. While it accepts no writes, the delivery waits on a rung and is cancelled
   * again when due, so it may be in `attempts` twice.
   */
  async #cancel(record: ConsumerRecord<Delivery>, settlement: Cancelled): Promise<void> {
    const { attemptProducer, attempts: codec, ladder } = this.#parts
    const { value: delivery, trace } = record
    const { code } = settlement
    const now = Date.now()
    const outcome =
      attemptProducer.stalledMs() > CANCEL_MS
        ? 'full'
        : await attemptProducer.produce([cancelled(delivery, { code, codec, now })], {
            deadlineMs: CANCEL_MS,
            trace,
          })
    if (outcome === 'acked') return this.#end(record, settlement)
    if (outcome !== 'unknown' && outcome !== 'full')
      return this.park(record, `its next record cannot be written: ${outcome}`)
    // a window without end, as a cancelled delivery is no dead letter
    const endless = { ...ladder, windowMs: Number.POSITIVE_INFINITY }
    await this.#write(record, defer(delivery, { waitMs: Number.POSITIVE_INFINITY, now: Date.now() }, endless))
  }

  #end(record: ConsumerRecord<Delivery>, settlement: Settlement): void {
    record.trace?.note({ 'sluice.outcome': settlement.kind })
    // an error makes the trace of a dead letter easy to find
    if (settlement.kind === 'dead') record.trace?.end(settlement.reason)
    this.#parts.onSettled(settlement, record.value)
    record.settle()
  }

  /** After an internal fault. Encodes the delivery again: its message is not kept in memory. */
  readonly park = ({ key, value, trace, park }: ConsumerRecord<Delivery>, reason: string): void => {
    const { deliveries, onFatal } = this.#parts
    try {
      park({ key: Buffer.from(key), value: deliveries.encode(value), headers: { ...trace?.headers } }, reason)
    } catch (error) {
      onFatal(asError(error))
    }
  }
}

function nextRecord(key: string, settlement: WithNextRecord, value: Buffer): OutRecord {
  if (settlement.kind === 'dead') return { topic: DEAD, key, value, headers: { reason: settlement.reason } }
  const { rung, dueAt } = settlement
  return { topic: rungTopic(rung.name), key, value, headers: { dueAt: String(dueAt) } }
}
