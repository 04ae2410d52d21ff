import type { Pace } from '../../deliverer/lane/pace.ts'
import type { Produced } from '../../kafka/pending.ts'
import type { Producer } from '../../kafka/produce.ts'
import type { Range } from '../../kafka/range.ts'
import type { Handler, Message, Taken } from '../../kafka/taken.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Replay } from '../../schemas/task.ts'
import { DUE } from '../../schemas/topics.ts'
import type { Processed, Trace } from '../../trace/trace.ts'

/** A delivery that is made of a record, and its key. */
export type Made = { delivery: Delivery; key: string }

export type Counts = Pick<Replay, 'read' | 'replayed' | 'parked'>

export type Replaying<T> = {
  ranges: readonly Range[]
  /** What is made of a record; undefined: nothing. */
  make: (record: Pick<Taken<T>, 'key' | 'value' | 'timestamp' | 'partition' | 'offset'>) => Made | undefined
  pace: Pace
  counts: Counts
  producer: Pick<Producer, 'produce'>
  encode: Codec<Delivery>['encode']
  /** Begins the trace of a delivery that is made again; undefined while traces are off. */
  traced?: ((of: Pick<Processed, 'partition' | 'offset' | 'headers'>, made: Delivery) => Trace) | undefined
}

/** Some at once, then a rest: each costs a fetch. */
const REST_MS = 50
const AGES_MS = 60_000

/** Puts what is made of a range where retries are: first attempts have a lane of their own, and do not wait for them. */
export function replayer<T>(replaying: Replaying<T>): Handler<T> {
  const { ranges, make, pace, producer, encode, traced } = replaying
  const ends = new Map(ranges.map(({ partition, to }) => [partition, to]))
  return (record, message) => {
    const { partition, offset } = record
    const now = Date.now()
    if (offset >= (ends.get(partition) ?? 0)) return { holdUntil: now + AGES_MS }
    const made = make(record)
    if (made && !pace.allows(now)) return { holdUntil: now + REST_MS }
    if (!made) {
      through(record, replaying)
      return undefined
    }
    pace.begun()
    const value = encode(made.delivery)
    const trace = traced?.({ partition, offset, headers: message.headers }, made.delivery)
    void producer.produce([{ topic: DUE, key: made.key, value }], { trace }).then((outcome) => {
      trace?.end(outcome === 'acked' ? undefined : outcome)
      conclude({ record, message, outcome }, replaying)
    })
    return undefined
  }
}

function through<T>(record: Taken<T>, { counts }: Replaying<T>): void {
  counts.read += 1
  record.settle()
}

type Concluded<T> = { record: Taken<T>; message: Message; outcome: Produced }

/** `unknown` comes only at the end of the process: whoever goes on makes it again. */
function conclude<T>({ record, message, outcome }: Concluded<T>, replaying: Replaying<T>): void {
  if (outcome === 'unknown') record.release()
  else if (outcome === 'acked') {
    replaying.counts.replayed += 1
    through(record, replaying)
  } else record.park(message, `it cannot be replayed: ${outcome}`)
}
