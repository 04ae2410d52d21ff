import { block } from './host-room.ts'
import { mayBegin, standing, waitsFor } from './line.ts'
import type { Job, Line, Standing, Waiting } from './state.ts'

/** Lines that may begin a POST take turns, one each: those that answer soon first, but for every eighth turn. */
export type Turns = {
  /** Gives the line a turn if it may begin. If its host has no room, lists it there as blocked. */
  add(line: Line, now: number): void
  /** @param isFree whether there is a slot for a line of this standing. */
  next(isFree: (standing: Standing) => boolean, now: number): Line | undefined
}

const ORDER = ['prompt', 'slow', 'doubtful'] as const
/** Else a line in doubt would never be asked again while others want every slot. */
const EIGHTH = ['doubtful', 'slow', 'prompt'] as const

export function createTurns(): Turns {
  const lists = { prompt: new Set<Line>(), slow: new Set<Line>(), doubtful: new Set<Line>() }
  let count = 0

  /** Listed anew when its standing has changed: the other list may be one that has no turns now. */
  function add(line: Line, now: number): void {
    if (!mayBegin(line, now)) {
      if (line.queue.length() > 0 && waitsFor(line, now) === 'host') block(line)
      return
    }
    const list = standing(line)
    if (line.listed === list) return
    leave(line)
    line.listed = list
    lists[list].add(line)
  }

  function leave(line: Line): void {
    if (line.listed) lists[line.listed].delete(line)
    line.listed = undefined
  }

  /** Silent and empty ones leave. */
  function first(list: Standing, now: number): Line | undefined {
    for (const line of lists[list]) {
      leave(line)
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

/** All POSTs that wait in a lane, each in its line. */
export type WaitingRoom = {
  put(line: Line, waiting: Waiting): void
  take(line: Line): Job | undefined
  /** Those in which something waits, as they are now. */
  lines(): Line[]
  count(): number
  bytes(): number
}

export function createWaitingRoom(): WaitingRoom {
  const lines = new Set<Line>()
  let count = 0
  let bytes = 0

  return {
    put(line, waiting) {
      line.queue.push(waiting)
      line.queuedBytes += waiting.job.bytes
      if (waiting.isUnproven) countInRoom(line, waiting, 1)
      lines.add(line)
      count += 1
      bytes += waiting.job.bytes
    },
    take(line) {
      const taken = line.queue.take()
      if (line.queue.length() === 0) lines.delete(line)
      if (!taken) return undefined
      line.queuedBytes -= taken.job.bytes
      if (taken.isUnproven) countInRoom(line, taken, -1)
      count -= 1
      bytes -= taken.job.bytes
      return taken.job
    },
    lines: () => [...lines],
    count: () => count,
    bytes: () => bytes,
  }
}

function countInRoom({ room }: Line, { job }: Waiting, change: 1 | -1): void {
  room.waiting += change
  room.waitingBytes += change * job.bytes
}
