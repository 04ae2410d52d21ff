import type { IHeaders } from 'kafkajs'
import { limitFor } from '../../../process/shared-room.ts'
import type { OutRecord, RecordList } from '../produce.ts'

/** Below the broker's `max.message.bytes` (1,048,588), with room for framing. */
export const MAX_RECORD_BYTES = 1_000_000
/** Approximate memory besides key, value and headers. */
const RECORD_OVERHEAD = 512
/** Memory for a record that is not made yet. */
const REFERENCE_BYTES = 8
const MAX_QUEUED_BYTES = 64 * 1024 * 1024

/** Counts the memory of queued records, in all and by flow. Flows share the limit. */
export class BufferMemory {
  #queuedBytes = 0
  readonly #bytesOf = new Map<string, number>()
  readonly #maxBytes: number

  constructor(maxBytes = MAX_QUEUED_BYTES) {
    this.#maxBytes = maxBytes
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  isFull(flow = ''): boolean {
    const own = flow === '' ? 0 : (this.#bytesOf.get(flow) ?? 0)
    return this.#queuedBytes > limitFor(own, this.#maxBytes)
  }

  take(flow: string, bytes: number): void {
    this.#queuedBytes += bytes
    this.#bytesOf.set(flow, (this.#bytesOf.get(flow) ?? 0) + bytes)
  }

  release(flow: string, bytes: number): void {
    this.#queuedBytes -= bytes
    const left = (this.#bytesOf.get(flow) ?? 0) - bytes
    if (left > 0) this.#bytesOf.set(flow, left)
    else this.#bytesOf.delete(flow)
  }
}

/** `bytes`: the memory it takes. `largest`: bytes of its largest record. */
export type MeasuredList = RecordList & { bytes: number; largest: number }

export function measureAll(records: readonly OutRecord[]): MeasuredList {
  let bytes = 0
  let largest = 0
  for (const record of records) {
    const size = sizeOf(record)
    bytes += size + RECORD_OVERHEAD
    largest = Math.max(largest, size)
  }
  return { count: records.length, record: (place) => records[place] as OutRecord, bytes, largest }
}

export function measureFirst({ count, record }: RecordList): MeasuredList {
  const first = record(0)
  const size = sizeOf(first)
  const bytes = size + RECORD_OVERHEAD + (count - 1) * REFERENCE_BYTES
  return { count, record: (place) => (place === 0 ? first : record(place)), bytes, largest: size }
}

/** Without framing. */
export function sizeOf({ key, value, headers }: Pick<OutRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = Buffer.byteLength(key) + (value === null ? 0 : Buffer.byteLength(value))
  for (const name in headers) bytes += headerBytes(name, headers[name])
  return bytes
}

/** The name is sent with each value. */
function headerBytes(name: string, value: IHeaders[string]): number {
  if (Array.isArray(value)) return value.reduce((sum, one) => sum + headerBytes(name, one), 0)
  return Buffer.byteLength(name) + Buffer.byteLength(value ?? '')
}
