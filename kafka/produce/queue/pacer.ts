/**
 * After a send of fewer than `fullAt` records, the next one starts `ms` later, or once `fullAt` records wait.
 * `onlyShared`: not for a lone caller that waits for each answer.
 */
export type Pace = { ms: number; fullAt: number; onlyShared?: boolean }

const NO_PACE: Pace = { ms: 0, fullAt: 0 }
/** A caller counts as alone once no two have waited together for this long. */
const SHARED_MS = 1_000

/** Decides when the next send starts. Times are by `performance.now()`. */
export class Pacer {
  readonly #pace: Pace
  #waiting = 0
  /** When the last send began, if it was small. */
  #smallSince = Number.NEGATIVE_INFINITY
  /** When records last came while others had not ended. */
  #sharedAt = Number.NEGATIVE_INFINITY
  #isIdle = false
  #stopWaiting: (() => void) | undefined

  constructor(pace: Pace = NO_PACE) {
    this.#pace = pace
  }

  /** @param areAlone false if other records are queued or being sent. */
  added(records: number, areAlone: boolean): void {
    if (!areAlone) this.#sharedAt = performance.now()
    this.#waiting += records
    if (this.#isIdle || this.#waiting >= this.#pace.fullAt) this.stop()
  }

  sent(records: number, at: number): void {
    this.#waiting -= records
    this.#smallSince = records < this.#pace.fullAt ? at : Number.NEGATIVE_INFINITY
  }

  /** Resolves when the next send should start. */
  async collect(): Promise<void> {
    const { ms, fullAt, onlyShared = false } = this.#pace
    const leftMs = this.#smallSince + ms - performance.now()
    const isAlone = onlyShared && this.#sharedAt < performance.now() - SHARED_MS
    if (leftMs <= 0 || isAlone || this.#waiting >= fullAt) await new Promise(setImmediate)
    else await this.#wait(leftMs)
  }

  /** Resolves when any record comes, or after `ms`. */
  async idle(ms: number): Promise<void> {
    this.#isIdle = true
    await this.#wait(Math.max(0, ms))
    this.#isIdle = false
  }

  async #wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#stopWaiting = resolve
    await promise
    clearTimeout(timer)
    this.#stopWaiting = undefined
  }

  /** Ends the wait at once. */
  stop(): void {
    this.#stopWaiting?.()
  }
}
