import type { Queue } from './queue.ts'

/** Those who wait for room in a queue, in their order. */
export class Room {
  readonly #queue: Pick<Queue, 'size' | 'room'>
  #waiters: (() => void)[] = []

  constructor(queue: Pick<Queue, 'size' | 'room'>) {
    this.#queue = queue
  }

  get isThere(): boolean {
    return this.#queue.room > 0
  }

  /** Resolves when there is some again. */
  wait(): Promise<void> {
    return new Promise((resolve) => void this.#waiters.push(resolve))
  }

  /** Lets no more go than there is room for, or all but the first would find it taken; all when the queue is empty. */
  wake(): void {
    const { size, room } = this.#queue
    for (const resolve of this.#waiters.splice(0, size === 0 ? this.#waiters.length : room)) resolve()
  }
}
