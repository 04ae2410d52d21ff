const FIRST_MS = 250
const LONGEST_MS = 10_000
const STEADY_MS = 30_000

/** How long to wait before a process is started again: doubling, from the beginning when it had run for a while. */
export function nextDelay(previousMs: number | undefined, upMs: number): number {
  if (previousMs === undefined || upMs >= STEADY_MS) return FIRST_MS
  return Math.min(previousMs * 2, LONGEST_MS)
}
