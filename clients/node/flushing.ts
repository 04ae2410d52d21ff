/** Those who wait until so many calls, of all that there ever were, are settled. */
export class Flushing {
  #reached = 0
  #waiters: { until: number; resolve: () => void }[] = []

  /** Resolves when so many are settled; at once when they are. */
  until(count: number): Promise<void> {
    if (this.#reached >= count) return Promise.resolve()
    return new Promise((resolve) => void this.#waiters.push({ until: count, resolve }))
  }

  reached(count: number): void {
    this.#reached = count
    const through = this.#waiters.filter(({ until }) => until <= count)
    this.#waiters = this.#waiters.filter(({ until }) => until > count)
    for (const { resolve } of through) resolve()
  }
}
