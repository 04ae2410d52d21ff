import type { KafkaMessage } from 'kafkajs'
import type { Trace } from '../../trace/trace.ts'

/** Only `registry_unreachable` is temporary. */
export type Decoded<T> =
  | { ok: true; value: T }
  | { ok: false; reason: 'undecodable' | 'unknown_schema' | 'registry_unreachable'; message: string }

export type Message = KafkaMessage

/** A record passed to a handler. The handler settles it, now or later. */
export type Taken<T> = {
  topic: string
  partition: number
  offset: number
  /** The record's time, ms since 1970. */
  timestamp: number
  key: string
  value: T
  /** Undefined while traces are off. */
  trace?: Trace | undefined
  /** Its offset can be committed once all earlier ones are settled too. */
  settle(): void
  /** False once the partition is given up. Release records that are not started yet. */
  owned(): boolean
  /** Hands it back untouched. */
  release(): void
  /** Writes it to topic `parked`, then settles it. `message`: as the handler got it. */
  park(message: Message, reason: string): void
}

/** Safe to store while a record waits: it does not hold the record's value. */
export type Ends = Pick<Taken<unknown>, 'settle' | 'release' | 'park'>

/** This record and all later ones of its partition come again at that time (ms since 1970). */
export type Hold = { holdUntil: number }
/** Takes the record and the rest of its fetch. The partition is not fetched again before that time (ms since 1970). */
export type Rest = { restUntil: number }

/**
 * Called in the order of the partition. It must return at once: waiting would stop every partition. `message` is for
 * `park`. It keeps its whole fetch in memory, so drop it when the record is settled; then `highWater` bounds that
 * memory. A copy would not save memory, because all records of a fetch settle at nearly the same time.
 */
export type Handler<T> = (record: Taken<T>, message: Message) => Hold | Rest | undefined
