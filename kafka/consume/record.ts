import type { KafkaMessage } from 'kafkajs'
import type { Trace } from '../../trace/trace.ts'

/** What came of reading a record's value. `registry_unreachable` passes by itself, the others do not. */
export type Decoded<T> =
  | { ok: true; value: T }
  | { ok: false; reason: 'undecodable' | 'unknown_schema' | 'registry_unreachable'; message: string }

export type Message = KafkaMessage

/** A record handed over: whoever has it settles it, now or later. */
export type Taken<T> = {
  topic: string
  partition: number
  offset: number
  /** The record's own time in milliseconds. */
  timestamp: number
  key: string
  value: T
  /** What is done for it, until it is settled, released or parked; undefined while traces are off. */
  trace?: Trace | undefined
  /** Nothing remains to be done for it: its offset may be committed once all before it are settled too. */
  settle(): void
  /** False once the partition is to be given away: what has not been begun is then released, not begun. */
  owned(): boolean
  /** Hands it back untouched. */
  release(): void
  /** Keeps it in topic `parked` with the reason, then settles it. `message`: as the handler got it. */
  park(message: Message, reason: string): void
}

/** What ends a record. Kept while it waits, where its value need not be. */
export type Ends = Pick<Taken<unknown>, 'settle' | 'release' | 'park'>

/** Not yet: this record and all behind it in its partition come again at that time (milliseconds of the epoch). */
export type Hold = { holdUntil: number }
/** It is taken, and what was fetched with it; nothing more of its partition is fetched before that time. */
export type Rest = { restUntil: number }

/**
 * Called in the order of the partition; hands off and returns at once (no awaiting: it would stop every partition).
 * `message` is for `park`. It pins its whole fetch in memory, so keep it no longer than until its record is settled: then
 * `highWater` bounds what is pinned. A copy would take the same bytes again, as all of a fetch is settled at nearly the same time.
 */
export type Handler<T> = (record: Taken<T>, message: Message) => Hold | Rest | undefined
