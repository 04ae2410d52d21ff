import { setImmediate } from 'node:timers/promises'

/** The rules of one destination may exceed a slice, by 0.1 s at most. */
const SLICE_MS = 50

/** One slice of work per turn of the event loop leaves time for heartbeats and other records. */
export type Slices = {
  isSpent(): boolean
  /** Waits for a new slice. Callers get one turn each, in order. */
  next(): Promise<void>
}

/** @param clock in ms. */
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
