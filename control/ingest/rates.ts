/** How many there have been up to some moment. */
export type Total = { calls: number; rejected: number }

/** Times are ms since 1970; `calls` are those that were accepted. */
export type Rates = {
  perSecond: number
  rejectedPerSecond: number
  /** The last sixty, the one that it is now last. */
  minutes: (Total & { at: number })[]
}

export const MINUTES = 60
const MINUTE = 60_000
/** So long back the speed of now is measured. */
const LATELY_MS = 10_000

/** What totals at some moments say of speed. */
export function createRates() {
  const beginnings = new Map<number, Total>()
  let looks: (Total & { at: number })[] = []

  return {
    /** What there was when this minute began. */
    minute(at: number, total: Total): void {
      beginnings.set(at, total)
      for (const old of beginnings.keys()) if (old <= at - MINUTES * MINUTE) beginnings.delete(old)
    },

    look(at: number, total: Total): void {
      // the clock was set back
      looks = looks.filter((look) => look.at < at && look.at >= at - LATELY_MS)
      looks.push({ ...total, at })
    },

    of(now: number): Rates {
      const [first, last] = [looks[0], looks.at(-1)]
      const seconds = first && last ? (last.at - first.at) / 1_000 : 0
      const speed = (of: keyof Total) =>
        first && last && seconds > 0 ? Math.round((grown(first, last, of) / seconds) * 10) / 10 : 0
      const current = now - (now % MINUTE)
      return {
        perSecond: speed('calls'),
        rejectedPerSecond: speed('rejected'),
        minutes: Array.from({ length: MINUTES }, (_, index) => {
          const at = current - (MINUTES - 1 - index) * MINUTE
          const from = beginnings.get(at)
          const to = beginnings.get(at + MINUTE) ?? (at === current ? last : undefined)
          const of = (what: keyof Total) => (from && to ? grown(from, to, what) : 0)
          return { at, calls: of('calls'), rejected: of('rejected') }
        }),
      }
    },
  }
}

/** A topic that was made anew begins at nought. */
const grown = (from: Total, to: Total, of: keyof Total) => Math.max(0, to[of] - from[of])
