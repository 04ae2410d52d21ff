import { LRUCache } from 'lru-cache'
import type { TailRecord } from '../../../kafka/tables/tail.ts'
import { EVENTS, REJECTED } from '../../../schemas/topics.ts'

export type Recent = {
  /** In any order. */
  add(channelId: string, call: RawCall): void
  of(channelId: string): readonly RawCall[]
}

const MAX_COUNT = 50
const MAX_BYTES = 1024 * 1024
const MAX_BYTES_OF_ALL = 16 * 1024 * 1024
const OVERHEAD = 200

export function createRecent(maxBytesOfAll = MAX_BYTES_OF_ALL): Recent {
  const channels = new LRUCache<string, { calls: RawCall[]; bytes: number }>({
    maxSize: maxBytesOfAll,
    sizeCalculation: ({ bytes }) => bytes,
  })
  return {
    add(channelId, call) {
      const { calls, bytes } = channels.get(channelId) ?? { calls: [], bytes: 0 }
      calls.splice(calls.findLastIndex(({ timestamp }) => timestamp <= call.timestamp) + 1, 0, call)
      let total = bytes + bytesOf(call)
      while (calls.length > MAX_COUNT || (total > MAX_BYTES && calls.length > 1)) {
        const oldest = calls.shift()
        if (oldest) total -= bytesOf(oldest)
      }
      channels.set(channelId, { calls, bytes: total })
    },
    of: (channelId) => channels.get(channelId)?.calls ?? [],
  }
}

const bytesOf = ({ value }: RawCall) => OVERHEAD + value.length

/** `value` is a copy: a slice would keep its whole fetch in memory. */
export type RawCall = {
  sourceId: string
  topic: typeof EVENTS | typeof REJECTED
  partition: number
  offset: number
  timestamp: number
  value: Buffer
}

export function rawOf({ topic, value, partition, offset, timestamp }: TailRecord, sourceId: string): RawCall {
  const from = topic === REJECTED ? REJECTED : EVENTS
  return { sourceId, topic: from, partition, offset, timestamp, value: Buffer.from(value ?? '') }
}
