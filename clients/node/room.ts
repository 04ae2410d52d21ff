import type { Queue } from './queue.ts'

/**
 * Those who wait for room in a queue, in their order. Who gets some has it until the end of that turn of the event loop: time enough for
 * the call, and nothing is kept for one who makes none.
 */
export class Room {
  readonly #queue: Pick<Queue, 'room'>
  #waiters: (() => void)[] = []
  /** Places that were given in this turn, for which no call has come yet. */
  #given = 0
  #isEndSet = false

  constructor(queue: Pick<Queue, 'room'>) {
    this.#queue = queue
  }

  get isAwaited(): boolean {
    return this.#waiters.length > 0
  }

  /** Resolves when there is some, at once where there is some now. */
  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.push(resolve)
    this.wake()
    return promise
  }

  /** A call has come. */
  taken(): void {
    if (this.#given > 0) this.#given -= 1
  }

  /** Lets no more go than there is room for: any other would find it taken. */
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

  /** Lets all go, room or not. */
  end(): void {
    for (const resolve of this.#waiters.splice(0)) resolve()
  }

  #endTurn(): void {
    this.#isEndSet = false
    this.#given = 0
    this.wake()
  }
}
