import { setImmediate } from 'node:timers/promises'

/** A slice ends with the rules of the destination that exceeds it, which take 0.1 s at most. */
const SLICE_MS = 50

/** One slice of work for each turn of the event loop, so that heartbeats and other records get their time. */
export type Slices = {
  /** Whether this turn's slice is used up. */
  isSpent(): boolean
  /** Waits for a slice of its own. Those who wait get one turn each, in order. */
  next(): Promise<void>
}

/** @param clock in ms. @param nextTurn resolves in the next turn of the event loop. */
export function createSlices(
  clock: () => number = () => performance.now(),
  nextTurn: () => Promise<unknown> = setImmediate,
): Slices {
  let endsAt: number | undefined
  let last: Promise<unknown> = Promise.resolve()

  const begin = () => {
    endsAt = undefined
  }

  return {
    isSpent() {
      const now = clock()
      if (endsAt === undefined) {
        endsAt = now + SLICE_MS
        void nextTurn().then(begin)
      }
      return now >= endsAt
    },
    next() {
      const mine = last.then(nextTurn).then(begin)
      last = mine
      return mine
    },
  }
}
