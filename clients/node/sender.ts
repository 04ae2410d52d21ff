import type { Debug } from './debug.ts'
import type { Deliver } from './deliver.ts'
import { type Encoded, idIn } from './encode.ts'
import type { AnalyticsError } from './errors.ts'
import { broken, type Delivered, failedOf } from './failure.ts'
import { BATCH_BYTES, BATCH_CALLS } from './limits.ts'
import { whenIdle } from './process-end.ts'
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
 * Sends the queue in order, one batch at a time. `#added` and `#settled` count calls from the first. Calls up to
 * `#flushTo` do not wait for more.
 */
export class Sender {
  readonly #parts: Parts
  readonly #room: Room
  readonly #flushing = new Flushing()
  readonly #giveUp = new AbortController()
  readonly #alarm = new Alarm(() => this.#flushAll())
  #running = false
  /** In ms of performance.now(): the last batch, or before it the first call. */
  #flushedAt = 0
  #added = 0
  #settled = 0
  #flushTo = 0
  /** `calls`: in failed batches. */
  #failed: { calls: number; lastError?: AnalyticsError | undefined } = { calls: 0 }

  constructor(parts: Parts) {
    this.#parts = parts
    this.#room = new Room(parts.queue)
  }

  get failed(): { calls: number; lastError?: AnalyticsError | undefined } {
    return this.#failed
  }

  /** @throws AnalyticsError `queue_full`, after which the queue is flushed */
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
    // someone waits for room
    if (this.#room.isAwaited) this.#flushTo = this.#added
    const { type, bytes } = call
    debug?.('queue', { type, messageId: idIn(call), bytes, waiting: queue.waiting })
    this.#next()
  }

  /** Settles a call in a microtask, without sending it. */
  skip(call: Encoded): void {
    this.#added += 1
    this.#settled += 1
    const reported = Promise.resolve().then(() => this.#parts.report([call], []))
    this.#flushing.settled(this.#settled, reported)
  }

  flush(): Promise<void> {
    this.#flushAll()
    return this.#flushing.until(this.#added)
  }

  room(): Promise<void> {
    const room = this.#room.wait()
    if (this.#room.isAwaited) this.#flushAll()
    return room
  }

  endRoom(): void {
    this.#room.end()
  }

  /** Reports all unsent calls as failed. */
  giveUp(): void {
    this.#giveUp.abort()
  }

  stopWaitingForReports(): void {
    this.#flushing.stopWaitingForReports()
  }

  #flushAll(): void {
    this.#flushTo = this.#added
    this.#next()
  }

  #next(): void {
    if (this.#running || this.#parts.queue.waiting === 0) return
    if (this.#isDue()) {
      this.#alarm.clear()
      this.#running = true
      // calls of one turn are sent together
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
      // sends all that waits now; later calls wait for the next flush
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
    const failed = failedOf(settled, delivered)
    if (delivered.outcome !== 'sent')
      this.#failed = { calls: this.#failed.calls + settled.length, lastError: failed[0]?.error }
    const withCallback = settled.filter(({ callback }) => callback)
    const unhold = queue.hold([...new Set([...failed.flatMap(({ calls }) => calls), ...withCallback])])
    const reported = report(withCallback, failed).then(() => {
      unhold()
      this.#room.wake()
    })
    // the next batch does not wait: functions of the caller may never finish
    this.#flushing.settled(this.#settled, reported)
    this.#room.wake()
  }
}

/** Waits until the first `count` calls are finished, including onFailure. */
class Flushing {
  #settled = 0
  /** Unfinished reports, oldest first. `before`: calls settled before. */
  readonly #reports = new Set<{ before: number }>()
  #waitsForReports = true
  #waiters: { until: number; resolve: () => void }[] = []

  until(count: number): Promise<void> {
    if (this.#finished >= count) return Promise.resolve()
    return new Promise((resolve) => void this.#waiters.push({ until: count, resolve }))
  }

  /** `count`: from the first call. @param reported settles when onFailure has finished; never rejects */
  settled(count: number, reported: Promise<void>): void {
    const report = { before: this.#settled }
    this.#reports.add(report)
    this.#settled = count
    this.#wake()
    void reported.then(() => {
      this.#reports.delete(report)
      this.#wake()
    })
  }

  stopWaitingForReports(): void {
    this.#waitsForReports = false
    this.#wake()
  }

  get #finished(): number {
    const [oldest] = this.#reports
    return this.#waitsForReports && oldest ? oldest.before : this.#settled
  }

  #wake(): void {
    const finished = this.#finished
    const ready = this.#waiters.filter(({ until }) => until <= finished)
    this.#waiters = this.#waiters.filter(({ until }) => until > finished)
    for (const { resolve } of ready) resolve()
  }
}

/** Does not keep the process alive: rings at once if there is nothing else to do. */
class Alarm {
  readonly #ring: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(ring: () => void) {
    this.#ring = ring
  }

  /** Does nothing if it is set. @param at ms of performance.now() */
  set(at: number): void {
    if (this.#timer) return
    this.#timer = setTimeout(this.#ring, Math.max(0, at - performance.now())).unref()
    whenIdle.add(this.#ring)
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    whenIdle.remove(this.#ring)
  }
}
