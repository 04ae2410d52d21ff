import { z } from 'zod'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import { countBefore } from '../../../process/sorted.ts'
import type { Page } from '../../api/pagination.ts'

export type RecentRecords<T extends RecordPosition> = {
  /** In any order: partitions have no common order. */
  add(item: T): void
  /** Oldest first. */
  all(): readonly T[]
  /** Newest first, after the cursor. Records that come or go between pages shift nothing else. */
  page(query: { limit: number; cursor?: RecordPosition | undefined; matches?: (item: T) => boolean }): Page<T>
  /** Records of these partitions that are older than the first one read are missing. */
  begunLate(partitions: ReadonlySet<number>): void
  /** Since when all records are held, in ms since 1970; null: none. */
  oldest(): number | null
}

export type RecentRecordsOptions<T> = {
  maxCount: number
  maxBytes?: number
  /** Approximate; constant for each item. */
  bytesOf?: (item: T) => number
  onDropped?: (item: T) => void
}

/** Share of records that wait unsorted: large batches are cheap to sort. */
const WAITING = 0.1

export function createRecentRecords<T extends RecordPosition>(
  options: RecentRecordsOptions<T>,
): RecentRecords<T> {
  const { add, sorted } = createSortedBuffer(options)
  let allSince = Number.NEGATIVE_INFINITY
  return {
    add,
    all: sorted,

    page({ limit, cursor, matches = () => true }) {
      const all = sorted()
      const items: T[] = []
      const end = cursor ? countBefore(all, (item) => compare(item, cursor) < 0) : all.length
      for (let index = end - 1; index >= 0; index--) {
        const item = all[index]
        if (!item || !matches(item)) continue
        const last = items.at(-1)
        if (items.length === limit && last) return { items, next: cursorOf(last) }
        items.push(item)
      }
      return { items, next: null }
    },

    begunLate(partitions) {
      const left = new Set(partitions)
      for (const { time, partition } of sorted())
        if (left.delete(partition)) allSince = Math.max(allSince, time)
    },

    oldest() {
      const [first] = sorted()
      return first ? Math.max(allSince, first.time) : null
    },
  }
}

function createSortedBuffer<T extends RecordPosition>(options: RecentRecordsOptions<T>) {
  const { maxCount, maxBytes = Number.POSITIVE_INFINITY, bytesOf = () => 0, onDropped } = options
  let held: T[] = []
  let added: T[] = []
  let [heldBytes, addedBytes] = [0, 0]

  function add(item: T): void {
    added.push(item)
    addedBytes += bytesOf(item)
    if (added.length >= maxCount * WAITING || addedBytes >= maxBytes * WAITING) sorted()
  }

  function sorted(): readonly T[] {
    if (added.length === 0) return held
    // a single merge, because both runs are sorted
    held = held.concat(added.sort(compare)).sort(compare)
    heldBytes += addedBytes
    added = []
    addedBytes = 0
    dropOldest()
    return held
  }

  function dropOldest(): void {
    let dropped = 0
    for (const item of held) {
      if (held.length - dropped <= maxCount && heldBytes <= maxBytes) break
      heldBytes -= bytesOf(item)
      dropped += 1
      onDropped?.(item)
    }
    if (dropped > 0) held = held.slice(dropped)
  }

  return { add, sorted }
}

/** `time`: ms since 1970. */
export type RecordPosition = PartitionOffset & { time: number }

export function compare(a: RecordPosition, b: RecordPosition): number {
  return a.time - b.time || a.partition - b.partition || a.offset - b.offset
}

export const cursorOf = ({ time, partition, offset }: RecordPosition) => `${time}.${partition}.${offset}`

export const cursorShape = z
  .string()
  .regex(/^-?\d{1,16}\.\d{1,9}\.\d{1,15}$/, 'use the next of the previous page')
  .transform((text): RecordPosition => {
    const [time = 0, partition = 0, offset = 0] = text.split('.').map(Number)
    return { time, partition, offset }
  })
