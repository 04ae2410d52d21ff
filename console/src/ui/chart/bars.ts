export const WIDTH = 120
export const HEIGHT = 28

/** In pixels, from the top left. */
export type Bar = { x: number; y: number; width: number; height: number }

type Counts = readonly (number | null)[]

/** Keeps one failure among thousands of deliveries visible. */
const LEAST = 2

/** Stacks two bars per bucket, scaled to the largest sum. Zero and null have no bar. */
export function barsOf(lower: Counts, upper: Counts): { lower: Bar[]; upper: Bar[] } {
  const width = WIDTH / Math.max(1, lower.length)
  const sums = lower.map((count, place) => (count ?? 0) + (upper[place] ?? 0))
  const scale = (HEIGHT - LEAST) / Math.max(1, ...sums)
  const heightOf = (count: number | null | undefined) => (count ? Math.max(LEAST, round(count * scale)) : 0)
  const bars = (of: (place: number) => { height: number; above: number }) =>
    lower.flatMap((_, place) => {
      const { height, above } = of(place)
      const y = round(HEIGHT - above - height)
      return height > 0 ? [{ x: round(place * width), y, width: round(width * 0.8), height }] : []
    })
  return {
    lower: bars((place) => ({ height: heightOf(lower[place]), above: 0 })),
    upper: bars((place) => ({ height: heightOf(upper[place]), above: heightOf(lower[place]) })),
  }
}

const round = (value: number) => Math.round(value * 100) / 100
