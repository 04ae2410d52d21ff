import type { TailRecord } from '../../kafka/tail.ts'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'

/** A call as it lies in its topic, not decoded. `value` is a copy. */
export type RawCall = {
  sourceId: string
  topic: typeof EVENTS | typeof REJECTED
  partition: number
  offset: number
  timestamp: number
  value: Buffer
}

/** Keys are `source/user` and, of what was rejected, `source`; most records are of sources that nobody watches. */
export function sourceOf(key: Buffer): string {
  const slash = key.indexOf('/')
  return key.toString('latin1', 0, slash < 0 ? key.length : slash)
}

export function rawOf({ topic, value, partition, offset, timestamp }: TailRecord, sourceId: string): RawCall {
  const from = topic === REJECTED ? REJECTED : EVENTS
  return { sourceId, topic: from, partition, offset, timestamp, value: Buffer.from(value ?? '') }
}
