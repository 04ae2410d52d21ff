import { formatInteger } from '../../wording/format.ts'
import { type Bar, barsOf, HEIGHT, WIDTH } from './bars.ts'

type Counts = readonly (number | null)[]

/** One bar per bucket, with failed attempts on top of deliveries. */
export function Sparkline({
  label,
  delivered,
  failed,
}: {
  label: string
  delivered: Counts
  failed: Counts
}) {
  const { lower, upper } = barsOf(delivered, failed)
  return (
    <svg
      role="img"
      aria-label={`${label}. Delivered: ${summary(delivered)}. Not delivered: ${summary(failed)}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      className="sparkline"
    >
      <path d={pathOf(lower)} className="delivered" />
      <path d={pathOf(upper)} className="failed" />
    </svg>
  )
}

const pathOf = (bars: readonly Bar[]) =>
  bars.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`).join('')

function summary(values: Counts): string {
  const known = values.filter((value) => value !== null)
  const last = known.at(-1)
  return last === undefined
    ? 'no data'
    : `now ${formatInteger(last)}, max ${formatInteger(Math.max(...known))}`
}
