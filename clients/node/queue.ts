import { batchSize } from './batch.ts'
import type { Encoded } from './encode.ts'
import { callsOf, fault } from './errors.ts'
import { CALL_BYTES } from './limits.ts'

export type Bounds = { maxQueue: number; maxQueueBytes: number; flushAt: number }

/** Replaces a taken call, to free its memory. */
const GONE: Encoded = { type: 'track', json: '', bytes: 0 }

/**
 * Bounded by number and bytes. Calls in flight count, and settled ones until `onFailure` and their callbacks have
 * finished.
 */
export class Queue {
  readonly #bounds: Bounds
  /** Waiting calls start at the index `#head`. */
  #calls: Encoded[] = []
  #head = 0
  #waitingBytes = 0
  #inFlight: readonly Encoded[] = []
  #inFlightBytes = 0
  #held = { calls: 0, bytes: 0 }

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get waiting(): number {
    return this.#calls.length - this.#head
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  get size(): number {
    return this.waiting + this.#inFlight.length + this.#held.calls
  }

  get #bytes(): number {
    return this.#waitingBytes + this.#inFlightBytes + this.#held.bytes
  }

  /** How many calls of the largest size fit. */
  get room(): number {
    const { maxQueue, maxQueueBytes } = this.#bounds
    return Math.max(0, Math.min(maxQueue - this.size, Math.floor((maxQueueBytes - this.#bytes) / CALL_BYTES)))
  }

  /** @throws AnalyticsError `queue_full` */
  push(call: Encoded): void {
    const { maxQueue, maxQueueBytes } = this.#bounds
    if (this.size >= maxQueue) throw this.#full(`${callsOf(maxQueue)} (maxQueue)`)
    if (this.#bytes + call.bytes > maxQueueBytes) throw this.#full(`${maxQueueBytes} bytes (maxQueueBytes)`)
    this.#calls.push(call)
    this.#waitingBytes += call.bytes
  }

  #full(bound: string) {
    const { calls } = this.#held
    const held = calls === 0 ? '' : `, including ${callsOf(calls)} held by onFailure or callbacks`
    return fault(
      'queue_full',
      `The queue is full: ${bound}${held}. Wait for room(), send less, or raise the limit.`,
    )
  }

  take(): readonly Encoded[] {
    const end = this.#head + batchSize(this.#calls, { ...this.#bounds, from: this.#head })
    this.#inFlight = this.#calls.slice(this.#head, end)
    this.#inFlightBytes = bytesOf(this.#inFlight)
    this.#waitingBytes -= this.#inFlightBytes
    this.#calls.fill(GONE, this.#head, end)
    this.#head = end
    // not each time: batches of one would copy the whole queue for each call
    if (this.#head * 2 >= this.#calls.length) {
      this.#calls = this.#calls.slice(this.#head)
      this.#head = 0
    }
    return this.#inFlight
  }

  release(): void {
    this.#inFlight = []
    this.#inFlightBytes = 0
  }

  /** Counts calls outside the queue until the returned function is called. */
  hold(calls: readonly { json: string }[]): () => void {
    const bytes = calls.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0)
    this.#held.calls += calls.length
    this.#held.bytes += bytes
    return () => {
      this.#held.calls -= calls.length
      this.#held.bytes -= bytes
    }
  }

  /** Removes and returns all calls: in flight, then waiting. */
  clear(): readonly Encoded[] {
    const all = [...this.#inFlight, ...this.#calls.slice(this.#head)]
    this.release()
    this.#calls = []
    this.#head = 0
    this.#waitingBytes = 0
    return all
  }
}

const bytesOf = (calls: readonly Encoded[]) => calls.reduce((sum, { bytes }) => sum + bytes, 0)
