import type { KafkaMessage } from 'kafkajs'
import type { Trace } from '../../trace/trace.ts'

/** Only `registry_unreachable` is temporary. */
export type Decoded<T> =
  | { ok: true; value: T }
  | { ok: false; reason: 'undecodable' | 'unknown_schema' | 'registry_unreachable'; message: string }

export type Message = KafkaMessage
export type Contents = Pick<Message, 'key' | 'value' | 'headers'>

/** The handler settles it, now or later. */
export type ConsumerRecord<T> = {
  topic: string
  partition: number
  offset: number
  /** ms since 1970. */
  timestamp: number
  key: string
  value: T
  trace?: Trace | undefined
  /** Its offset can be committed once all earlier ones are settled too. */
  settle(): void
  /** False once the partition is given up: release records that are not started. */
  owned(): boolean
  /** Hands it back untouched. */
  release(): void
  /** Writes it to topic `parked`, then settles it. `message`: as the handler got it, or the same made again. */
  park(message: Contents, reason: string): void
}

/** Safe to store: it does not keep the record's value in memory. */
export type RecordEnds = Pick<ConsumerRecord<unknown>, 'settle' | 'release' | 'park'>

/** This record and later ones of its partition come again then (ms since 1970). */
export type Hold = { holdUntil: number }
export const holdFor = (ms: number): Hold => ({ holdUntil: Date.now() + ms })
/** Takes the record and the rest of its fetch. The next fetch is not before then (ms since 1970). */
export type Rest = { restUntil: number }

/**
 * Called in the partition's order. Must return at once: waiting would stop every partition. `message` is for `park`. It
 * keeps its whole fetch in memory, so drop it when the record is settled.
 */
export type Handler<T> = (record: ConsumerRecord<T>, message: Message) => Hold | Rest | undefined
