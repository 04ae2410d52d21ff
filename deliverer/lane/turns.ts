import { createFifo } from './fifo.ts'
import { isDoubtful, type Line, mayBegin } from './line.ts'

/** Lines that may begin a POST take turns, one each; those in doubt come last, and have a bound of their own. */
export type Turns = {
  /** Its turn comes, when it may begin. */
  add(line: Line, now: number): void
  next(now: number): Line | undefined
  /** A POST to a line in doubt begins, or has ended. */
  doubt(change: 1 | -1): void
  /** Whether one more to a line in doubt may begin. */
  hasDoubt(): boolean
}

/** @param most POSTs under way to lines in doubt, all together: however many endpoints are dead, they take no more. */
export function createTurns(most: number): Turns {
  const trusted = createFifo<Line>()
  const doubtful = createFifo<Line>()
  let inDoubt = 0
  const hasDoubt = () => inDoubt < most

  function add(line: Line, now: number): void {
    if (line.listed || !mayBegin(line, now)) return
    line.listed = true
    const turns = isDoubtful(line) ? doubtful : trusted
    turns.push(line)
  }

  function next(now: number): Line | undefined {
    const line = trusted.take() ?? (hasDoubt() ? doubtful.take() : undefined)
    if (!line) return undefined
    line.listed = false
    // since it was listed it may have come into doubt, or become silent
    if (mayBegin(line, now) && (hasDoubt() || !isDoubtful(line))) return line
    add(line, now)
    return next(now)
  }

  return {
    add,
    next,
    hasDoubt,
    doubt(change) {
      inDoubt += change
    },
  }
}
