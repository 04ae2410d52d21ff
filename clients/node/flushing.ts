/** Those who wait until so many calls, of all that there ever were, are through: sent, or reported and taken by onFailure. */
export class Flushing {
  #settled = 0
  /** The reports that onFailure is not through with, the oldest first: how many calls were settled before each. */
  readonly #reports = new Set<{ before: number }>()
  #isPatient = true
  #waiters: { until: number; resolve: () => void }[] = []

  /** Resolves when so many are through; at once when they are. */
  until(count: number): Promise<void> {
    if (this.#through >= count) return Promise.resolve()
    return new Promise((resolve) => void this.#waiters.push({ until: count, resolve }))
  }

  /** So many are settled. @param told settles when onFailure is through with the last of them; never rejects. */
  settled(count: number, told: Promise<void>): void {
    const report = { before: this.#settled }
    this.#reports.add(report)
    this.#settled = count
    this.#wake()
    void told.then(() => {
      this.#reports.delete(report)
      this.#wake()
    })
  }

  /** From now on onFailure is not waited for. */
  hurry(): void {
    this.#isPatient = false
    this.#wake()
  }

  get #through(): number {
    const [oldest] = this.#reports
    return this.#isPatient && oldest ? oldest.before : this.#settled
  }

  #wake(): void {
    const through = this.#through
    const ready = this.#waiters.filter(({ until }) => until <= through)
    this.#waiters = this.#waiters.filter(({ until }) => until > through)
    for (const { resolve } of ready) resolve()
  }
}
