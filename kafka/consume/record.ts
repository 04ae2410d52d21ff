import type { KafkaMessage } from 'kafkajs'
import type { Trace } from '../../trace/trace.ts'

/** `registry_unreachable` passes by itself, the other reasons do not. */
export type Decoded<T> =
  | { ok: true; value: T }
  | { ok: false; reason: 'undecodable' | 'unknown_schema' | 'registry_unreachable'; message: string }

export type Message = KafkaMessage

/** A record passed to a handler, which settles it, now or later. */
export type Taken<T> = {
  topic: string
  partition: number
  offset: number
  /** The record's own time, ms since 1970. */
  timestamp: number
  key: string
  value: T
  /** Undefined while traces are off. */
  trace?: Trace | undefined
  /** Its offset may be committed once all before it are settled too. */
  settle(): void
  /** False once the partition is to be given away: release what has not been begun. */
  owned(): boolean
  /** Hands it back untouched. */
  release(): void
  /** Writes it to topic `parked`, then settles it. `message`: as the handler got it. */
  park(message: Message, reason: string): void
}

/** Can be stored while a record waits, without its value. */
export type Ends = Pick<Taken<unknown>, 'settle' | 'release' | 'park'>

/** This record and all behind it in its partition come again at that time (ms since 1970). */
export type Hold = { holdUntil: number }
/** The record is taken, and so is the rest of its fetch. Nothing more of its partition is fetched before that time. */
export type Rest = { restUntil: number }

/**
 * Called in the order of the partition. Returns at once: awaiting would stop every partition. `message` is for `park`;
 * it keeps its whole fetch in memory, so store it no longer than until the record is settled: `highWater` then bounds
 * that memory. A copy would not help, as all of a fetch is settled at nearly the same time.
 */
export type Handler<T> = (record: Taken<T>, message: Message) => Hold | Rest | undefined
