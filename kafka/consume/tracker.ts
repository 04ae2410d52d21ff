/** In bits. In base64, they fit in Kafka's 4,096 characters of commit metadata. */
export const MAX_SPAN = 3_000 * 8

/** From this many on, the lists drop settled offsets when they are the majority. */
const COMPACT_FROM = 1_024

/**
 * Tracks which offsets of a partition are settled. Lists them instead of counting, because the log has gaps
 * (compaction, transaction markers).
 */
export class Tracker {
  /** Those before `head` are settled. */
  #seen: number[] = []
  #times: number[] = []
  #head = 0
  /** Everything before it is settled. */
  #base: number
  #last: number
  #lastTime: number | undefined
  /** Settled offsets from `base` on. */
  readonly #settled: Set<number>
  /** The offset after everything that was read before a restart. */
  readonly #readBefore: number
  readonly #released = new Set<number>()
  #unsettledCount = 0

  constructor(start: { offset: number; ahead: string; time?: number | undefined }) {
    const settledBefore = unpackAhead(start.offset, start.ahead)
    this.#base = start.offset
    this.#last = start.offset - 1
    this.#lastTime = start.time
    this.#settled = new Set(settledBefore)
    this.#readBefore = (settledBefore.at(-1) ?? start.offset - 1) + 1
  }

  /**
   * @param time ms since 1970.
   * @returns false when the offset is in flight or settled, here or before a restart.
   */
  take(offset: number, time: number): boolean {
    if (offset <= this.#last) return this.#released.delete(offset)
    this.#last = offset
    this.#lastTime = time
    this.#seen.push(offset)
    this.#times.push(time)
    const known = this.#settled.has(offset)
    if (known) this.#advance()
    else this.#unsettledCount += 1
    return !known
  }

  settle(offset: number): void {
    if (offset < this.#base || offset > this.#last || this.#settled.has(offset)) return
    this.#settled.add(offset)
    this.#released.delete(offset)
    this.#unsettledCount -= 1
    this.#advance()
  }

  /** The offset can be taken again. */
  release(offset: number): void {
    if (offset >= this.#base && offset <= this.#last && !this.#settled.has(offset)) this.#released.add(offset)
  }

  /** The log has lost everything before `offset`. Records in flight continue. */
  skip(offset: number): void {
    for (const each of [...this.#released]) if (each < offset) this.settle(each)
    if (offset <= this.#last) return
    for (const each of this.#settled) if (each > this.#last && each < offset) this.#settled.delete(each)
    this.#last = offset - 1
    this.#advance()
  }

  #advance(): void {
    const seen = this.#seen
    let head = this.#head
    while (head < seen.length && this.#settled.delete(seen[head] ?? -1)) head += 1
    this.#head = head
    this.#base = seen[head] ?? this.#last + 1
    if (head <= COMPACT_FROM || head * 2 <= seen.length) return
    this.#seen = seen.slice(head)
    this.#times = this.#times.slice(head)
    this.#head = 0
  }

  /** What to commit; see `packAhead`. */
  position(): { offset: number; ahead: string } {
    return { offset: this.#base, ahead: packAhead(this.#base, this.#settled) }
  }

  unsettled(): number {
    return this.#unsettledCount
  }

  /** Time of the first unsettled record. */
  oldest(): number | undefined {
    return this.#times[this.#head]
  }

  /** Unsettled records that are not released. */
  inFlight(): number {
    return this.#unsettledCount - this.#released.size
  }

  /**
   * `offset`: after everything seen or settled, also before a restart. `time`: of the last record seen. `again`: the
   * first earlier offset that must still be read.
   */
  next(): { offset: number; time: number | undefined; again?: number | undefined } {
    const unread = this.#last + 1
    const offset = Math.max(unread, this.#readBefore)
    const again = Math.min(unread, ...this.#released)
    return { offset, time: this.#lastTime, again: again < offset ? again : undefined }
  }

  /** The range that `ahead` must cover. */
  span(): number {
    return this.#last + 1 - this.#base
  }
}

/** In base64. Bit i, from the lowest of the first byte, says that offset `base + i` is settled. */
export function packAhead(base: number, settled: Iterable<number>): string {
  const bits = Buffer.alloc(MAX_SPAN / 8)
  let length = 0
  for (const offset of settled) {
    const index = offset - base
    if (index < 0 || index >= MAX_SPAN) continue
    const byte = index >> 3
    bits[byte] = (bits[byte] ?? 0) | (1 << (index & 7))
    length = Math.max(length, byte + 1)
  }
  return bits.subarray(0, length).toString('base64')
}

export function unpackAhead(base: number, ahead: string): number[] {
  const offsets: number[] = []
  Buffer.from(ahead, 'base64').forEach((byte, index) => {
    for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) offsets.push(base + index * 8 + bit)
  })
  return offsets
}

/** For a few offsets: `unpackAhead` lists all, which takes up to 0.8 ms. @returns whether an offset is settled. */
export function settledAhead(base: number, ahead: string): (offset: number) => boolean {
  const bits = Buffer.from(ahead, 'base64')
  return (offset) => {
    const index = offset - base
    return ((bits[Math.floor(index / 8)] ?? 0) & (1 << (index & 7))) !== 0
  }
}

/** @returns the position in a log that was cut at `cut`. */
export function cutAt({ offset, ahead }: { offset: number; ahead: string }, cut: number) {
  if (offset >= cut) return { offset: cut, ahead: '' }
  const settled = unpackAhead(offset, ahead).filter((each) => each < cut)
  return { offset, ahead: packAhead(offset, settled) }
}
