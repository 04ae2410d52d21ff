/** Says of each that comes at `now` (ms of a monotonic clock) whether it is taken. */
export type Sampler = (now: number) => boolean

/** Takes so many at once, and so many a second after that, evenly. */
export function createSampler(perSecond: number): Sampler {
  let room = perSecond
  let at = Number.NEGATIVE_INFINITY
  return (now) => {
    room = Math.min(perSecond, room + ((now - at) / 1_000) * perSecond)
    at = now
    if (room < 1) return false
    room -= 1
    return true
  }
}
