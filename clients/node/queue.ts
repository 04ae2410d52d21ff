import { batchSize } from './batch.ts'
import type { Encoded } from './encode.ts'
import { callsOf, fault } from './errors.ts'
import { CALL_BYTES } from './limits.ts'

export type Bounds = { maxQueue: number; maxQueueBytes: number; flushAt: number }

/** In the place of a call that was taken, so that the queue does not keep it. */
const GONE: Encoded = { type: 'track', json: '', bytes: 0 }

/**
 * Calls in their order, in memory, bounded by number and by bytes. What is under way still counts, and so does what has failed until
 * nobody needs it any more.
 */
export class Queue {
  readonly #bounds: Bounds
  /** They wait from the index `#head` on. */
  #calls: Encoded[] = []
  #head = 0
  #waitingBytes = 0
  #underWay: readonly Encoded[] = []
  #underWayBytes = 0
  #held = { calls: 0, bytes: 0 }

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** Calls that are not under way. */
  get waiting(): number {
    return this.#calls.length - this.#head
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  get size(): number {
    return this.waiting + this.#underWay.length + this.#held.calls
  }

  get #bytes(): number {
    return this.#waitingBytes + this.#underWayBytes + this.#held.bytes
  }

  /** How many more calls are taken for sure, also of the largest. */
  get room(): number {
    const { maxQueue, maxQueueBytes } = this.#bounds
    return Math.max(0, Math.min(maxQueue - this.size, Math.floor((maxQueueBytes - this.#bytes) / CALL_BYTES)))
  }

  /** @throws AnalyticsError `queue_full`, having taken nothing. */
  push(call: Encoded): void {
    const { maxQueue, maxQueueBytes } = this.#bounds
    if (this.size >= maxQueue) throw this.#full(`${callsOf(maxQueue)} (maxQueue)`)
    if (this.#bytes + call.bytes > maxQueueBytes) throw this.#full(`${maxQueueBytes} bytes (maxQueueBytes)`)
    this.#calls.push(call)
    this.#waitingBytes += call.bytes
  }

  #full(bound: string) {
    const { calls } = this.#held
    const held = calls === 0 ? '' : `, ${callsOf(calls)} of it with onFailure`
    return fault(
      'queue_full',
      `The queue holds its ${bound}${held}: wait for room(), send less, or raise the bound.`,
    )
  }

  /** The next batch, now under way. */
  take(): readonly Encoded[] {
    const end = this.#head + batchSize(this.#calls, { ...this.#bounds, from: this.#head })
    this.#underWay = this.#calls.slice(this.#head, end)
    this.#underWayBytes = bytesOf(this.#underWay)
    this.#waitingBytes -= this.#underWayBytes
    this.#calls.fill(GONE, this.#head, end)
    this.#head = end
    // not each time: with batches of one that would copy all that waits for each call
    if (this.#head * 2 >= this.#calls.length) {
      this.#calls = this.#calls.slice(this.#head)
      this.#head = 0
    }
    return this.#underWay
  }

  /** What was under way is no more. */
  release(): void {
    this.#underWay = []
    this.#underWayBytes = 0
  }

  /** Calls that have left the queue, and that somebody else has: they count until the function is called that this returns. */
  hold(calls: readonly { json: string }[]): () => void {
    const bytes = calls.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0)
    this.#held.calls += calls.length
    this.#held.bytes += bytes
    return () => {
      this.#held.calls -= calls.length
      this.#held.bytes -= bytes
    }
  }

  /** Gives up all: what was under way, and behind it what waited. */
  clear(): readonly Encoded[] {
    const all = [...this.#underWay, ...this.#calls.slice(this.#head)]
    this.release()
    this.#calls = []
    this.#head = 0
    this.#waitingBytes = 0
    return all
  }
}

const bytesOf = (calls: readonly Encoded[]) => calls.reduce((sum, { bytes }) => sum + bytes, 0)
