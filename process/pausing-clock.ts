/** Unless it is stopped or overloaded, a process reads its clock more often. */
const LONGEST_MS = 500

/**
 * A monotonic clock in milliseconds. It leaves out the time in which this process was stopped and received nothing: a
 * gap of more than 500 ms between two readings counts as 500 ms. Read it several times a second.
 */
export function createPausingClock(now = () => performance.now()): () => number {
  let readAt = now()
  let time = readAt
  return () => {
    const at = now()
    time += Math.min(at - readAt, LONGEST_MS)
    readAt = at
    return time
  }
}
