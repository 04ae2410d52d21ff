import { partitionKey } from '../../topic-partition.ts'
import type { Keyed } from '../send.ts'
import { MAX_BYTES, MAX_ITEMS } from './fair-queue.ts'

type Placed = { topic: string; message: Keyed; bytes: number }
/** Without its message, which is made again when it is sent. Until then, records may share data. */
export type Unmade<T extends Placed> = Omit<T, 'message'>
/** `failures`: how many tries in a row have failed. `retryAt`: when to try it again. */
type Partition<T extends Placed> = {
  key: string
  records: Unmade<T>[]
  since: number
  failures: number
  retryAt: number
}

/** After the first failed try. If there is no leader, kafkajs asks for one once a second (kafka/patches/leaderless.ts). */
const RETRY_MS = 500
/** Long enough even if all partitions are unwritable at once. */
const LONGEST_RETRY_MS = 2_000

const retryMs = (failures: number) => Math.min(RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS)

/**
 * Partitions that do not exist, have no leader or have too few in-sync replicas. Their records wait here, in order,
 * while others are sent. Times are in ms of the monotonic clock.
 */
export class UnwritablePartitions<T extends Placed> {
  readonly #partitions = new Map<string, Partition<T>>()
  #tried: Partition<T> | undefined
  readonly #make: (record: Unmade<T>) => T

  constructor(make: (record: Unmade<T>) => T) {
    this.#make = make
  }

  isEmpty(): boolean {
    return this.#partitions.size === 0
  }

  /** Whether records of the partition wait here: later ones must not overtake them. */
  has(topic: string, partition: number): boolean {
    // asked for each record that is sent: without any here, no key is made
    return !this.isEmpty() && this.#partitions.has(partitionKey(topic, partition))
  }

  all(): Unmade<T>[] {
    return [...this.#partitions.values()].flatMap(({ records }) => records)
  }

  /** When the longest wait began. */
  since(): number | undefined {
    return this.isEmpty() ? undefined : Math.min(...[...this.#partitions.values()].map(({ since }) => since))
  }

  dueAt(): number {
    return Math.min(...[...this.#partitions.values()].map(({ retryAt }) => retryAt))
  }

  /** @param records were just tried, and could not be written. */
  add(records: readonly T[], now: number): void {
    for (const record of records) {
      const key = partitionKey(record.topic, record.message.placed ?? -1)
      const partition = this.#partitions.get(key)
      if (partition) partition.records.push(unmade(record))
      else {
        const tried = { failures: 1, retryAt: now + retryMs(1) }
        this.#partitions.set(key, { key, records: [unmade(record)], since: now, ...tried })
      }
    }
  }

  /** @returns the first records of one partition, or only one if the last try failed. Call `putBack` after you try them. */
  takeDue(now: number): T[] {
    const due = [...this.#partitions.values()].find(({ retryAt }) => retryAt <= now)
    this.#tried = due
    if (!due) return []
    const most = due.failures > 0 ? 1 : MAX_ITEMS
    let [count, bytes] = [0, 0]
    for (const record of due.records) {
      bytes += record.bytes
      if (count === most || (count > 0 && bytes > MAX_BYTES)) break
      count += 1
    }
    return due.records.splice(0, count).map(this.#make)
  }

  /** @param left those that still cannot be written. */
  putBack(left: readonly T[], now: number): void {
    const tried = this.#tried
    if (!tried) return
    tried.records = [...left.map(unmade), ...tried.records]
    tried.failures = left.length > 0 ? tried.failures + 1 : 0
    tried.retryAt = left.length > 0 ? now + retryMs(tried.failures) : now
    // next time, other partitions come first
    this.#partitions.delete(tried.key)
    if (tried.records.length > 0) this.#partitions.set(tried.key, tried)
    this.#tried = undefined
  }

  /** @returns the removed records. */
  remove(isOver: (record: Unmade<T>) => boolean): Unmade<T>[] {
    const removed: Unmade<T>[] = []
    for (const partition of this.#partitions.values()) {
      const { over = [], left = [] } = Object.groupBy(partition.records, (each) =>
        isOver(each) ? 'over' : 'left',
      )
      removed.push(...over)
      partition.records = left
      if (left.length === 0 && partition !== this.#tried) this.#partitions.delete(partition.key)
    }
    return removed
  }
}

function unmade<T extends Placed>({ message: _, ...rest }: T): Unmade<T> {
  return rest
}
