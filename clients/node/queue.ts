import { batchSize } from './batch.ts'
import type { Encoded } from './encode.ts'
import { fault } from './errors.ts'
import { CALL_BYTES } from './limits.ts'

export type Bounds = { maxQueue: number; maxQueueBytes: number; flushAt: number }

/** Calls in their order, in memory, bounded by number and by bytes. What is under way still counts. */
export class Queue {
  readonly #bounds: Bounds
  #waiting: Encoded[] = []
  #waitingBytes = 0
  #underWay: Encoded[] = []
  #underWayBytes = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** Calls that are not under way. */
  get waiting(): number {
    return this.#waiting.length
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  get size(): number {
    return this.#waiting.length + this.#underWay.length
  }

  /** How many more calls are taken for sure, also of the largest. */
  get room(): number {
    const { maxQueue, maxQueueBytes } = this.#bounds
    const bytes = maxQueueBytes - this.#waitingBytes - this.#underWayBytes
    return Math.max(0, Math.min(maxQueue - this.size, Math.floor(bytes / CALL_BYTES)))
  }

  /** @throws AnalyticsError `queue_full`, having taken nothing. */
  push(call: Encoded): void {
    const { maxQueue, maxQueueBytes } = this.#bounds
    if (this.size >= maxQueue) throw full(`${maxQueue} calls (maxQueue)`)
    if (this.#waitingBytes + this.#underWayBytes + call.bytes > maxQueueBytes)
      throw full(`${maxQueueBytes} bytes (maxQueueBytes)`)
    this.#waiting.push(call)
    this.#waitingBytes += call.bytes
  }

  /** The next batch, now under way. */
  take(): readonly Encoded[] {
    const count = batchSize(this.#waiting, this.#bounds)
    this.#underWay = this.#waiting.slice(0, count)
    this.#underWayBytes = bytesOf(this.#underWay)
    this.#waiting = this.#waiting.slice(count)
    this.#waitingBytes -= this.#underWayBytes
    return this.#underWay
  }

  /** What was under way is no more. */
  release(): void {
    this.#underWay = []
    this.#underWayBytes = 0
  }

  /** Gives up all: what was under way, and behind it what waited. */
  clear(): readonly Encoded[] {
    const all = [...this.#underWay, ...this.#waiting]
    this.release()
    this.#waiting = []
    this.#waitingBytes = 0
    return all
  }
}

const bytesOf = (calls: readonly Encoded[]) => calls.reduce((sum, { bytes }) => sum + bytes, 0)

const full = (bound: string) =>
  fault('queue_full', `The queue holds its ${bound}: wait for room(), send less, or raise the bound.`)
