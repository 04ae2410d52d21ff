import type { Job, Waiting } from './job.ts'
import type { Line } from './line.ts'

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
