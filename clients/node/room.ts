import type { Queue } from './queue.ts'

/**
 * Waits for room in a queue, in order. A waiter keeps its room until the end of that turn of the event loop: enough for
 * its call, and nothing stays reserved.
 */
export class Room {
  readonly #queue: Pick<Queue, 'room'>
  #waiters: (() => void)[] = []
  /** Room given in this turn and not yet used. */
  #given = 0
  #isEndSet = false

  constructor(queue: Pick<Queue, 'room'>) {
    this.#queue = queue
  }

  get isAwaited(): boolean {
    return this.#waiters.length > 0
  }

  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.push(resolve)
    this.wake()
    return promise
  }

  taken(): void {
    if (this.#given > 0) this.#given -= 1
  }

  wake(): void {
    const free = this.#queue.room - this.#given
    if (free <= 0 || !this.isAwaited) return
    const next = this.#waiters.splice(0, free)
    this.#given += next.length
    for (const resolve of next) resolve()
    if (this.#isEndSet) return
    this.#isEndSet = true
    setImmediate(() => this.#endTurn())
  }

  end(): void {
    for (const resolve of this.#waiters.splice(0)) resolve()
  }

  #endTurn(): void {
    this.#isEndSet = false
    this.#given = 0
    this.wake()
  }
}
