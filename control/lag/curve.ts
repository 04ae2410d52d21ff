/** At `at` (ms since 1970) all before `offset` was there. */
export type Point = { offset: number; at: number }

/** How the end of a partition went up, as far as it was looked at. */
export type Curve = {
  /** In the order of time. */
  add(point: Point): void
  /** @returns about when the end passed this offset; undefined: before all that is known, or not yet. */
  timeOf(offset: number): number | undefined
  /** How many points are held: 256 at most. */
  size(): number
}

/** Points lie no further apart than the looks, or than this part of their age: 180 reach back a week. */
const SPACING = 1 / 8
const MOST = 256

/**
 * As Kafka Lag Exporter does: no record needs to be read. Between two points records are taken to have come at even distances, so
 * that a time is wrong by at most the distance of the two.
 */
export function createCurve(): Curve {
  let points: Point[] = []

  return {
    add(point) {
      const [last, before] = [points.at(-1), points.at(-2)]
      // the topic was made anew, or the clock set back: what is known is of another time
      if (last && (last.offset > point.offset || last.at > point.at)) points = []
      // while nothing comes, the first and the last look at it say all
      else if (last?.offset === point.offset && before?.offset === point.offset) points.pop()
      points.push(point)
      if (points.length > MOST) points = thinned(points, point.at)
    },

    timeOf(offset) {
      const index = points.findIndex((point) => point.offset > offset)
      const [left, right] = [points[index - 1], points[index]]
      if (!left || !right) return undefined
      const share = (offset + 0.5 - left.offset) / (right.offset - left.offset)
      return left.at + share * (right.at - left.at)
    },

    size: () => points.length,
  }
}

function thinned(points: readonly Point[], now: number): Point[] {
  const kept: Point[] = []
  for (const [index, point] of points.entries()) {
    const [before, after] = [kept.at(-1), points[index + 1]]
    const isNeeded = !before || !after || after.at - before.at > (now - point.at) * SPACING
    if (isNeeded) kept.push(point)
  }
  return kept.slice(-MOST)
}
