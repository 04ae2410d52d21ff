import { Alarm } from './alarm.ts'
import type { Debug } from './debug.ts'
import type { Deliver } from './deliver.ts'
import { broken, type Delivered } from './delivered.ts'
import { type Encoded, idIn } from './encode.ts'
import type { AnalyticsError } from './errors.ts'
import { failuresOf } from './failure.ts'
import { Flushing } from './flushing.ts'
import { BATCH_BYTES, BATCH_CALLS } from './limits.ts'
import type { Queue } from './queue.ts'
import type { Report } from './report.ts'
import { Room } from './room.ts'

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
  readonly #room: Room
  readonly #flushing = new Flushing()
  readonly #giveUp = new AbortController()
  readonly #alarm = new Alarm(() => this.#flushAll())
  #running = false
  /** When the last batch went; until there is one, when the first call came. */
  #flushedAt = 0
  #added = 0
  #settled = 0
  #flushTo = 0
  /** Calls of batches that failed, and why the last of them did. */
  #failed: { calls: number; lastError?: AnalyticsError | undefined } = { calls: 0 }

  constructor(parts: Parts) {
    this.#parts = parts
    this.#room = new Room(parts.queue)
  }

  get failed(): { calls: number; lastError?: AnalyticsError | undefined } {
    return this.#failed
  }

  /** @throws AnalyticsError `queue_full`; the queue is then being flushed. */
  add(call: Encoded): void {
    const { queue, debug } = this.#parts
    try {
      queue.push(call)
    } catch (error) {
      this.#flushAll()
      throw error
    }
    if (this.#added === 0) this.#flushedAt = performance.now()
    this.#added += 1
    this.#room.taken()
    // who waits for room is not to wait for company
    if (this.#room.isAwaited) this.#flushTo = this.#added
    const { type, bytes } = call
    debug?.('queue', { type, messageId: idIn(call), bytes, waiting: queue.waiting })
    this.#next()
  }

  /** Resolves when all that is there now is settled: sent, or reported and taken by onFailure. */
  flush(): Promise<void> {
    this.#flushAll()
    return this.#flushing.until(this.#added)
  }

  /** Resolves when there is room for a call of any size, and for that of everybody who waits so. */
  room(): Promise<void> {
    const room = this.#room.wait()
    if (this.#room.isAwaited) this.#flushAll()
    return room
  }

  /** Nobody waits for room any longer: there will be no more calls. */
  endRoom(): void {
    this.#room.end()
  }

  /** Lets everything go that has not been sent yet, and reports it. */
  giveUp(): void {
    this.#giveUp.abort()
  }

  /** Flushes wait no longer for onFailure. */
  hurry(): void {
    this.#flushing.hurry()
  }

  #flushAll(): void {
    this.#flushTo = this.#added
    this.#next()
  }

  /** Starts the next batch when it is due, or the clock that will make it due. */
  #next(): void {
    if (this.#running || this.#parts.queue.waiting === 0) return
    if (this.#isDue()) {
      this.#alarm.clear()
      this.#running = true
      // not at once: what the program calls in one go is sent together
      setImmediate(() => void this.#run())
    } else this.#alarm.set(this.#flushedAt + this.#parts.settings.flushAfter)
  }

  #isDue(): boolean {
    const { queue, settings } = this.#parts
    if (this.#settled < this.#flushTo || queue.waiting >= Math.min(settings.flushAt, BATCH_CALLS)) return true
    return queue.waitingBytes >= BATCH_BYTES
  }

  async #run(): Promise<void> {
    const { queue, deliver, debug } = this.#parts
    while (queue.waiting > 0 && this.#isDue()) {
      // all that waits now goes, in as many batches as it takes; what comes later waits for a flush of its own
      if (this.#settled >= this.#flushTo) this.#flushTo = this.#added
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
    const failures = failuresOf(settled, delivered)
    if (delivered.outcome !== 'sent')
      this.#failed = { calls: this.#failed.calls + settled.length, lastError: failures[0]?.error }
    const letGo = queue.hold(failures.flatMap(({ messages }) => messages))
    const told = report(failures).then(() => {
      letGo()
      this.#room.wake()
    })
    // the next batch does not wait for onFailure: it may never end
    this.#flushing.settled(this.#settled, told)
    this.#room.wake()
  }
}
