import { hash } from 'node:crypto'
import type { PartitionWatch } from '../kafka/consume/assignment.ts'
import type { ConsumerRecord, Handler, RecordEnds } from '../kafka/consume/record.ts'
import type { Delivery } from '../schemas/delivery.ts'

/** Deliveries per generation. Two generations are kept, and each entry takes about 170 bytes. */
const GENERATION = 50_000
/** Copies arrive seconds apart. A record that comes again later was restored by someone, so it is handled. */
const REMEMBERED_MS = 10 * 60_000

type Copy = RecordEnds & Pick<ConsumerRecord<Delivery>, 'trace'>
type Opened = { record: ConsumerRecord<Delivery>; copies: Copy[] }

/**
 * Drops copies of retries (docs/decisions/033). A copy is a record that is not further than another of its delivery
 * that this process has settled: Kafka has the record that followed that one, or the delivery is over. A copy of an
 * open record waits and ends with it.
 */
export function withoutCopies(
  handle: Handler<Delivery>,
  onCopy: () => void,
): { handle: Handler<Delivery>; watch: PartitionWatch } {
  const open = new Map<string, Opened>()
  const reached = createReached()

  function drop(copy: Copy): void {
    copy.trace?.note({ 'sluice.outcome': 'copy' })
    onCopy()
    copy.settle()
  }

  const receive: Handler<Delivery> = (record, message) => {
    const id = idOf(record)
    const stage = stageOf(record.value)
    if (stage <= reached.of(id)) {
      drop(record)
      return undefined
    }
    const place = `${id} ${stage}`
    const other = open.get(place)
    // a record of a partition that was given up may end without a result
    if (other?.record.owned() && other.record.partition === record.partition) {
      const { settle, release, park, trace } = record
      other.copies.push({ settle, release, park, trace })
      return undefined
    }
    const opened: Opened = { record, copies: [] }
    open.set(place, opened)
    let isTaken = false
    try {
      const pressure = handle(beforeEnd(record, close), message)
      isTaken = !(pressure && 'holdUntil' in pressure)
      return pressure
    } finally {
      if (!isTaken) open.delete(place)
    }

    function close(end: End): void {
      // a parked record is not remembered, because someone may return it to its topic
      if (end === 'settle') reached.add(id, stage)
      if (open.get(place) === opened) open.delete(place)
      for (const copy of opened.copies) {
        if (end === 'release') copy.release()
        else drop(copy)
      }
    }
  }

  return {
    handle: receive,
    watch: {
      // Kafka may have lost the record that followed a settled one. If that one is read again, its delivery goes on
      gained(partitions) {
        if (partitions.some(({ lostFrom }) => lostFrom !== undefined)) reached.clear()
      },
      lost: () => undefined,
    },
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
