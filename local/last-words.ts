/** Collects what a Java program prints, to say why it ended. */
export class LastWords {
  readonly #lines = new Set<string>()

  /** Stack frames and repetitions say nothing. */
  add(line: string): void {
    if (/^\s+(at |\.\.\. \d+ more)/.test(line) || line.trim() === '') return
    if (this.#lines.size < 50) this.#lines.add(line.trim())
  }

  toString(): string {
    if (this.#lines.size === 0) return 'It said nothing.'
    // an exception is told several times on its way out; its cause is among the first
    return `It said:\n  ${[...this.#lines].slice(0, 5).join('\n  ')}`
  }
}
