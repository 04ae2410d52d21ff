import { randomFillSync } from 'node:crypto'

const POOLED = 256
const MAX_COUNTER = 0xfff

/**
 * UUIDs of version 7 (RFC 9562, 5.7): 48 bits of milliseconds, a 12-bit counter, 62 random bits. They ascend, even
 * within a millisecond or if the clock is set back (6.2, "Monotonicity and Counters").
 * @param now ms since 1970
 */
export function uuids(now: () => number): () => string {
  // reading random bytes for each id would cost more than the rest of a call
  const pool = Buffer.alloc(8 * POOLED)
  let used = pool.length
  let at = 0
  let counter = 0
  let head = ''

  function tick(): void {
    const time = now()
    if (time <= at && counter < MAX_COUNTER) {
      counter += 1
      return
    }
    at = Math.max(time, at + 1)
    counter = 0
    const digits = at.toString(16).padStart(12, '0')
    head = `${digits.slice(0, 8)}-${digits.slice(8)}-7`
  }

  return () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    tick()
    pool[used] = ((pool[used] ?? 0) & 0x3f) | 0x80
    const tail = pool.toString('hex', used, used + 8)
    used += 8
    return `${head}${counter.toString(16).padStart(3, '0')}-${tail.slice(0, 4)}-${tail.slice(4)}`
  }
}
