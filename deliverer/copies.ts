import { hash } from 'node:crypto'
import type { Handler, Taken } from '../kafka/consume/record.ts'
import type { Delivery } from '../schemas/delivery.ts'

/** In deliveries. There are two generations, and each entry takes about 100 bytes. */
const GENERATION = 50_000

/**
 * Drops copies of retries (docs/decisions/033). A copy is another record of the same delivery that is not further than
 * one that this process has settled: that one, or what it has become, is in Kafka or done. If the other one is still
 * open, the copy waits and ends with it.
 */
export function withoutCopies(handle: Handler<Delivery>, onCopy: () => void): Handler<Delivery> {
  const open = new Map<string, { record: Taken<Delivery>; copies: Taken<Delivery>[] }>()
  const reached = createReached()

  function drop(copy: Taken<Delivery>): void {
    copy.trace?.note({ 'sluice.outcome': 'copy' })
    onCopy()
    copy.settle()
  }

  return (record, message) => {
    const id = idOf(record)
    const stage = stageOf(record.value)
    if (stage <= reached.of(id)) {
      drop(record)
      return undefined
    }
    const place = `${id} ${stage}`
    const other = open.get(place)
    // a record of a partition that was given up may end without a result, and its partition has another owner
    if (other?.record.owned() && other.record.partition === record.partition) {
      other.copies.push(record)
      return undefined
    }
    const opened = { record, copies: [] as Taken<Delivery>[] }
    const end = (how: (copy: Taken<Delivery>) => void) => {
      if (open.get(place) === opened) open.delete(place)
      opened.copies.forEach(how)
    }
    const watched: Taken<Delivery> = {
      ...record,
      settle() {
        reached.add(id, stage)
        end(drop)
        record.settle()
      },
      // not reached: a parked record may be written to its topic again
      park(contents, reason) {
        end(drop)
        record.park(contents, reason)
      },
      release() {
        end((copy) => copy.release())
        record.release()
      },
    }
    open.set(place, opened)
    let isTaken = false
    try {
      const pressure = handle(watched, message)
      isTaken = !(pressure && 'holdUntil' in pressure)
      return pressure
    } finally {
      if (!isTaken) open.delete(place)
    }
  }
}

/**
 * `routedAt` differs for each replay. The key differs if users' calls share a `messageId`, and the body if calls of one
 * user do.
 */
const idOf = ({ key, value: { deliveryId, routedAt, body } }: Taken<Delivery>) =>
  hash('sha256', `${deliveryId} ${routedAt} ${key.length} ${key} ${body}`, 'base64')

/** Each next record of a delivery has a higher one. */
const stageOf = ({ attempt, deferrals }: Delivery) => attempt * MAX_DEFERRALS + deferrals
const MAX_DEFERRALS = 2 ** 31

/** The highest stage of the deliveries that were settled last. */
function createReached() {
  let current = new Map<string, number>()
  let previous = new Map<string, number>()
  const of = (id: string) => current.get(id) ?? previous.get(id) ?? -1
  return {
    of,
    add(id: string, stage: number): void {
      current.set(id, Math.max(stage, of(id)))
      if (current.size < GENERATION) return
      previous = current
      current = new Map()
    },
  }
}
