import { whenIdle } from './process-end.ts'

/** A timer that does not keep the process: it goes off at once when that has nothing else to do. */
export class Alarm {
  readonly #ring: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(ring: () => void) {
    this.#ring = ring
  }

  /** Unless it is set already. @param at ms of performance.now(). */
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
