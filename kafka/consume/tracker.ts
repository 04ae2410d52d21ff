/**
 * Which offsets of one partition are settled: pure bookkeeping behind commits (ARCHITECTURE, "Hop by hop").
 * Offsets are tracked as seen, not by arithmetic: compaction and transaction markers leave gaps.
 */
export type Tracker = {
  /**
   * @param time the record's own, ms since 1970.
   * @returns false when this offset is in flight or settled already, here or before a restart.
   */
  take(offset: number, time: number): boolean
  settle(offset: number): void
  /** The record was not worked on and will not be: it may be taken once more, when it is fetched again. */
  release(offset: number): void
  /** What is before `offset` is gone from the log: nothing of it will come, or come once more. What is in flight goes on. */
  skip(offset: number): void
  /** Where to commit: all before `offset` is settled. `ahead` packs what is settled from there on, see `packAhead`. */
  position(): { offset: number; ahead: string }
  unsettled(): number
  /** The time of the first that is not settled. */
  oldest(): number | undefined
  /** Unsettled ones that somebody works on. */
  inFlight(): number
  /**
   * The offset behind all that is seen or settled, and the time of the last one seen, here or before a restart; undefined: not known. `again`:
   * the first that was released, and has to be fetched again; undefined: none was.
   */
  next(): { offset: number; time: number | undefined; again?: number | undefined }
  /** Offsets from the commit position to the last one seen: what `ahead` must be able to tell. */
  span(): number
}

/** Kafka takes 4,096 characters of commit metadata; base64 of this many bits stays below. */
export const MAX_SPAN = 3_000 * 8

/** @param start the committed offset and metadata from which this partition is read. */
export function createTracker(start: { offset: number; ahead: string; time?: number | undefined }): Tracker {
  let seen: number[] = []
  /** Of each of these its time. */
  let times: number[] = []
  let head = 0
  let base = start.offset
  let last = start.offset - 1
  let lastTime = start.time
  const settledBefore = unpackAhead(start.offset, start.ahead)
  const settled = new Set(settledBefore)
  const readBefore = (settledBefore.at(-1) ?? start.offset - 1) + 1
  let unsettled = 0
  const released = new Set<number>()

  function advance(): void {
    while (head < seen.length && settled.delete(seen[head] ?? -1)) head += 1
    base = seen[head] ?? last + 1
    if (head > 1024 && head * 2 > seen.length) {
      seen = seen.slice(head)
      times = times.slice(head)
      head = 0
    }
  }

  function settle(offset: number): void {
    if (offset < base || offset > last || settled.has(offset)) return
    settled.add(offset)
    released.delete(offset)
    unsettled -= 1
    advance()
  }

  return {
    take(offset, time) {
      if (offset <= last) return released.delete(offset)
      last = offset
      lastTime = time
      seen.push(offset)
      times.push(time)
      const known = settled.has(offset)
      if (known) advance()
      else unsettled += 1
      return !known
    },
    settle,
    release(offset) {
      if (offset >= base && offset <= last && !settled.has(offset)) released.add(offset)
    },
    skip(offset) {
      for (const each of [...released]) if (each < offset) settle(each)
      if (offset <= last) return
      for (const each of settled) if (each > last && each < offset) settled.delete(each)
      last = offset - 1
      advance()
    },
    position: () => ({ offset: base, ahead: packAhead(base, settled) }),
    unsettled: () => unsettled,
    oldest: () => times[head],
    inFlight: () => unsettled - released.size,
    next: () => ({
      offset: Math.max(last + 1, readBefore),
      time: lastTime,
      again: released.size > 0 ? Math.min(...released) : undefined,
    }),
    span: () => last + 1 - base,
  }
}

/** Bit i, from the lowest of the first byte, says that offset `base + i` is settled. In base64; empty when none is. */
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

/** @returns the position of a log that was cut at `cut`: what was settled behind that is of records that are gone. */
export function cutAt({ offset, ahead }: { offset: number; ahead: string }, cut: number) {
  if (offset >= cut) return { offset: cut, ahead: '' }
  return {
    offset,
    ahead: packAhead(
      offset,
      unpackAhead(offset, ahead).filter((settled) => settled < cut),
    ),
  }
}

export function unpackAhead(base: number, ahead: string): number[] {
  const offsets: number[] = []
  Buffer.from(ahead, 'base64').forEach((byte, index) => {
    for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) offsets.push(base + index * 8 + bit)
  })
  return offsets
}
