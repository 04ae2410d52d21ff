import { createFifo } from './fifo.ts'
import { type Line, mayBegin, type Standing, standing } from './line.ts'

/** Lines that may begin a POST take turns, one each: those that answer soon first, but for every eighth turn. */
export type Turns = {
  /** Its turn comes, when it may begin. */
  add(line: Line, now: number): void
  /** @param isFree whether there is a slot for a line of this standing. */
  next(isFree: (standing: Standing) => boolean, now: number): Line | undefined
}

const ORDER = ['prompt', 'slow', 'doubtful'] as const
/** Else a line in doubt would never be asked again while others want every slot. */
const EIGHTH = ['doubtful', 'slow', 'prompt'] as const

export function createTurns(): Turns {
  const lists = { prompt: createFifo<Line>(), slow: createFifo<Line>(), doubtful: createFifo<Line>() }
  let count = 0

  function add(line: Line, now: number): void {
    if (line.listed || !mayBegin(line, now)) return
    line.listed = true
    lists[standing(line)].push(line)
  }

  /** Those whose standing has changed since they were listed are listed anew; silent and empty ones leave. */
  function first(list: Standing, now: number): Line | undefined {
    for (let line = lists[list].take(); line; line = lists[list].take()) {
      line.listed = false
      if (standing(line) === list && mayBegin(line, now)) return line
      add(line, now)
    }
    return undefined
  }

  return {
    add,
    next(isFree, now) {
      count += 1
      for (const list of count % 8 === 0 ? EIGHTH : ORDER) {
        const line = isFree(list) ? first(list, now) : undefined
        if (line) return line
      }
      return undefined
    },
  }
}
