export type Rate = {
  add(now: number): void
  /** A second, of late. */
  lately(now: number): number
}

const WHILE_MS = 1_000

/** How often something happens: the last whole second, or what there has been of this one if that is more. */
export function createRate(): Rate {
  let from = 0
  let count = 0
  let before = 0

  function turn(now: number): void {
    if (now - from < WHILE_MS) return
    before = (count * 1_000) / (now - from)
    count = 0
    from = now
  }

  return {
    add(now) {
      turn(now)
      count += 1
    },
    lately(now) {
      turn(now)
      return Math.max(before, (count * 1_000) / Math.max(now - from, WHILE_MS / 4))
    },
  }
}
