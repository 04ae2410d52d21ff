import type { Debug } from './debug.ts'
import type { Deliver, Delivered } from './deliver.ts'
import type { Encoded } from './encode.ts'
import { type AnalyticsError, fault } from './errors.ts'
import { type Failure, failureOf, rejectionsOf } from './failure.ts'
import { Flushing } from './flushing.ts'
import { BATCH_BYTES, BATCH_CALLS } from './limits.ts'
import { whenIdle } from './process-end.ts'
import type { Queue } from './queue.ts'
import type { Report } from './report.ts'

export type Parts = {
  queue: Queue
  deliver: Deliver
  report: Report
  debug: Debug | undefined
  settings: { flushAt: number; flushAfter: number }
}

/**
 * Empties the queue, one batch at a time and in the order of the calls. Calls are numbered as they come: `#added` is how many
 * there were, `#settled` how many of them are through, `#flushTo` up to which one nothing waits for company.
 */
export class Sender {
  readonly #parts: Parts
  readonly #giveUp = new AbortController()
  #running = false
  #timer: NodeJS.Timeout | undefined
  #flushedAt = performance.now()
  #added = 0
  #settled = 0
  #flushTo = 0
  readonly #flushing = new Flushing()
  #waitingForRoom: (() => void)[] = []
  /** Calls of batches that failed, and why the last of them did. */
  #failed = 0
  #lastError: AnalyticsError | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get failed(): { calls: number; lastError: AnalyticsError | undefined } {
    return { calls: this.#failed, lastError: this.#lastError }
  }

  /** @throws AnalyticsError `queue_full`; the queue is then being flushed. */
  add(call: Encoded): void {
    try {
      this.#parts.queue.push(call)
    } catch (error) {
      this.#flushAll()
      throw error
    }
    this.#added += 1
    this.#parts.debug?.('queue', {
      type: call.type,
      messageId: call.messageId,
      bytes: call.bytes,
      waiting: this.#parts.queue.waiting,
    })
    this.#next()
  }

  /** Resolves when all that is there now is settled: sent, or reported. */
  flush(): Promise<void> {
    this.#flushAll()
    return this.#flushing.until(this.#added)
  }

  /** Resolves when there is room for a call of any size. */
  room(): Promise<void> {
    if (this.#parts.queue.room > 0) return Promise.resolve()
    this.#flushAll()
    return new Promise((resolve) => void this.#waitingForRoom.push(resolve))
  }

  /** Lets everything go that has not been sent yet, and reports it. */
  giveUp(): void {
    this.#giveUp.abort()
  }

  #flushAll(): void {
    this.#flushTo = this.#added
    this.#next()
  }

  /** Starts the next batch when it is due, or the clock that will make it due. */
  #next(): void {
    if (this.#running || this.#parts.queue.waiting === 0) return
    if (this.#isDue()) this.#start()
    else if (!this.#timer) this.#wait()
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    whenIdle.remove(this.#waited)
    this.#running = true
    // not at once: what the program calls in one go is sent together
    setImmediate(() => void this.#run())
  }

  #isDue(): boolean {
    const { queue, settings } = this.#parts
    if (this.#settled < this.#flushTo || queue.waiting >= Math.min(settings.flushAt, BATCH_CALLS)) return true
    return queue.waitingBytes >= BATCH_BYTES
  }

  /** The process may end meanwhile: when it has nothing else to do, the calls are sent without waiting any longer. */
  #wait(): void {
    const leftMs = this.#flushedAt + this.#parts.settings.flushAfter - performance.now()
    this.#timer = setTimeout(this.#waited, Math.max(0, leftMs)).unref()
    whenIdle.add(this.#waited)
  }

  readonly #waited = () => this.#flushAll()

  async #run(): Promise<void> {
    const { queue, deliver, debug } = this.#parts
    while (queue.waiting > 0 && this.#isDue()) {
      this.#flushedAt = performance.now()
      const batch = queue.take()
      debug?.('flush', { calls: batch.length, waiting: queue.waiting })
      this.#settle(batch, await deliver(batch, this.#giveUp.signal).catch(broken))
    }
    this.#running = false
    this.#next()
  }

  #settle(batch: readonly Encoded[], delivered: Delivered): void {
    const { queue, report } = this.#parts
    const settled = delivered.outcome === 'aborted' ? queue.clear() : batch
    queue.release()
    this.#settled += settled.length
    report(this.#failuresOf(settled, delivered))
    this.#wake()
  }

  #failuresOf(calls: readonly Encoded[], delivered: Delivered): Failure[] {
    if (delivered.outcome === 'sent') return rejectionsOf(calls, delivered.rejected)
    const error = delivered.outcome === 'failed' ? delivered.error : outOfTime()
    this.#failed += calls.length
    this.#lastError = error
    return [failureOf(error, calls)]
  }

  #wake(): void {
    const { queue } = this.#parts
    this.#flushing.reached(this.#settled)
    // no more than there is room for, or all but the first would find it taken
    const roomFor = queue.size === 0 ? this.#waitingForRoom.length : queue.room
    for (const resolve of this.#waitingForRoom.splice(0, roomFor)) resolve()
  }
}

/** What should not happen must not end the process that makes the calls. */
const broken = (cause: unknown): Delivered => ({
  outcome: 'failed',
  error: fault('gave_up', 'The batch could not be sent, for a reason within this library.', { cause }),
})

const outOfTime = () =>
  fault('closed', 'The client was closed before the call could be sent.', {
    cause: new Error('the time that close() may take (closeTimeout) has passed'),
  })
