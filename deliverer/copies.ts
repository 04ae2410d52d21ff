import { hash } from 'node:crypto'
import type { PartitionWatch } from '../kafka/consume/assignment.ts'
import type { ConsumerRecord, Handler, Hold, Message, RecordEnds, Rest } from '../kafka/consume/record.ts'
import type { Delivery } from '../schemas/delivery.ts'

/** Deliveries per generation. Two generations are kept, and each entry takes about 170 bytes. */
const GENERATION = 50_000
/** Copies arrive seconds apart. A record that comes again later was restored by someone, so it is handled. */
const REMEMBERED_MS = 10 * 60_000

type Copy = RecordEnds & Pick<ConsumerRecord<Delivery>, 'trace'>
type Opened = {
  id: string
  stage: number
  place: string
  record: ConsumerRecord<Delivery>
  copies: Copy[]
}

/**
 * Drops copies of retries (docs/decisions/033). A copy is a record that is not further than another of its delivery
 * that this process has settled: Kafka has the record that followed that one, or the delivery is over. A copy of an
 * open record waits and ends with it.
 */
export function withoutCopies(
  handle: Handler<Delivery>,
  onCopy: () => void,
): { handle: Handler<Delivery>; watch: PartitionWatch } {
  const filter = new CopyFilter(handle, onCopy)
  return {
    handle: (record, message) => filter.receive(record, message),
    watch: {
      // Kafka may have lost the record that followed a settled one. If that one is read again, its delivery goes on
      gained(partitions) {
        if (partitions.some(({ lostFrom }) => lostFrom !== undefined)) filter.forget()
      },
      lost: () => undefined,
    },
  }
}

class CopyFilter {
  readonly #handle: Handler<Delivery>
  readonly #onCopy: () => void
  readonly #open = new Map<string, Opened>()
  readonly #reached = createReached()

  constructor(handle: Handler<Delivery>, onCopy: () => void) {
    this.#handle = handle
    this.#onCopy = onCopy
  }

  receive(record: ConsumerRecord<Delivery>, message: Message): Hold | Rest | undefined {
    const id = idOf(record)
    const stage = stageOf(record.value)
    if (stage <= this.#reached.of(id)) {
      this.#drop(record)
      return undefined
    }
    const place = `${id} ${stage}`
    const other = this.#open.get(place)
    // a record of a partition that was given up may end without a result
    if (other?.record.owned() && other.record.partition === record.partition) {
      const { settle, release, park, trace } = record
      other.copies.push({ settle, release, park, trace })
      return undefined
    }
    return this.#begin({ id, stage, place, record, copies: [] }, message)
  }

  #begin(opened: Opened, message: Message): Hold | Rest | undefined {
    const { place, record } = opened
    this.#open.set(place, opened)
    let isTaken = false
    try {
      const watched = beforeEnd(record, (end) => this.#close(opened, end))
      const pressure = this.#handle(watched, message)
      isTaken = !(pressure && 'holdUntil' in pressure)
      return pressure
    } finally {
      if (!isTaken) this.#open.delete(place)
    }
  }

  #close(opened: Opened, end: End): void {
    const { id, stage, place, copies } = opened
    // a parked record is not remembered, because someone may return it to its topic
    if (end === 'settle') this.#reached.add(id, stage)
    if (this.#open.get(place) === opened) this.#open.delete(place)
    for (const copy of copies) {
      if (end === 'release') copy.release()
      else this.#drop(copy)
    }
  }

  #drop(copy: Copy): void {
    copy.trace?.note({ 'sluice.outcome': 'copy' })
    this.#onCopy()
    copy.settle()
  }

  forget(): void {
    this.#reached.clear()
  }
}

type End = keyof RecordEnds

/** Calls `onEnd` first. */
const beforeEnd = (
  record: ConsumerRecord<Delivery>,
  onEnd: (end: End) => void,
): ConsumerRecord<Delivery> => ({
  ...record,
  settle() {
    onEnd('settle')
    record.settle()
  },
  park(contents, reason) {
    onEnd('park')
    record.park(contents, reason)
  },
  release() {
    onEnd('release')
    record.release()
  },
})

/**
 * A replay has the same `deliveryId`, but a new `routedAt`. Calls that share a `messageId` also have the same
 * `deliveryId`. Their keys differ if their users do, and their bodies usually differ.
 */
const idOf = ({ key, value: { deliveryId, routedAt, body } }: ConsumerRecord<Delivery>) =>
  hash('sha256', `${deliveryId} ${routedAt} ${key.length} ${key} ${body}`, 'base64')

/** Rises with each next record of a delivery. */
const stageOf = ({ attempt, deferrals }: Delivery) => attempt * MAX_DEFERRALS + deferrals
const MAX_DEFERRALS = 2 ** 31

/** The highest settled stage of each recent delivery. */
function createReached() {
  let current = new Map<string, { stage: number; at: number }>()
  let previous: typeof current = new Map()

  function of(id: string): number {
    const found = current.get(id) ?? previous.get(id)
    return found && performance.now() - found.at < REMEMBERED_MS ? found.stage : Number.NEGATIVE_INFINITY
  }

  return {
    of,
    add(id: string, stage: number): void {
      current.set(id, { stage: Math.max(stage, of(id)), at: performance.now() })
      if (current.size < GENERATION) return
      previous = current
      current = new Map()
    },
    clear(): void {
      current = new Map()
      previous = new Map()
    },
  }
}
