import type { MantineColor } from '@mantine/core'
import type uPlot from 'uplot'
import { formatInteger } from '../../wording/format.ts'

export type Line = {
  label: string
  color: MantineColor
  /** Lengths of dashes and gaps in pixels, for people who do not see colors. */
  dash?: readonly number[]
  values: readonly (number | null)[]
}

export type ChartProps = {
  /** For screen readers. */
  label: string
  /** ISO 8601, ascending; each line has one value per time. */
  times: readonly string[]
  lines: readonly Line[]
  format: (value: number) => string
}

const MINUTE_S = 60
const BY_MINUTE = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const BY_SECOND = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const HEIGHT = 200

/** `dashes`: none for a solid line. */
export type PlotStyle = {
  width: number
  grid: string
  text: string
  labels: readonly string[]
  strokes: readonly string[]
  dashes: readonly (readonly number[])[]
  format: (value: number) => string
}

export function optionsOf({ width, grid, text, labels, strokes, dashes, format }: PlotStyle): uPlot.Options {
  // ticks between integers get no label
  const isCounted = format === formatInteger
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
  const inUnit = (tick: number) => (isCounted && !Number.isInteger(tick) ? '' : format(tick))
  return {
    width,
    height: HEIGHT,
    legend: {
      live: true,
      markers: { dash: (_: uPlot, series: number) => markerOf(dashes[series - 1] ?? []) },
    },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { range: timeRange }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, values: timeLabels },
      { ...axis, size: 64, values: (_, ticks) => withoutRepeats(ticks.map(inUnit)) },
    ],
    series: [
      { label: 'Time', value: (_, at) => (at === null ? '' : BY_SECOND.format(at * 1_000)) },
      ...labels.map((label, index) => ({
        label,
        stroke: strokes[index] ?? 'gray',
        width: 2,
        dash: [...(dashes[index] ?? [])],
        points: { show: true, size: 6, filter: isolated },
        value: (_: uPlot, value: number | null) => (value === null ? '' : format(value)),
      })),
    ],
  }
}

function markerOf([length]: readonly number[]): 'solid' | 'dashed' | 'dotted' {
  if (length === undefined) return 'solid'
  return length < 4 ? 'dotted' : 'dashed'
}

/** Rounding may repeat small ticks, such as 0 ms. */
export const withoutRepeats = (labels: readonly string[]): string[] =>
  labels.map((label, index) => (label === labels[index - 1] ? '' : label))

/** @param times ISO 8601 */
export const dataOf = (times: readonly string[], lines: readonly Line[]): uPlot.AlignedData => [
  times.map((at) => Date.parse(at) / 1_000),
  ...lines.map(({ values }) => [...values]),
]

/** At least a minute: a single value needs a visible range. */
const timeRange: uPlot.Range.Function = (_, min, max) => [Math.min(min, max - MINUTE_S), max]

/** Values without neighbors: a line needs two, so these need a mark. */
function isolated({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? []
  const hasValue = (index: number) => values[index] !== null && values[index] !== undefined
  return [...values.keys()].filter((index) => hasValue(index) && !hasValue(index - 1) && !hasValue(index + 1))
}

function timeLabels({ scales: { x } }: uPlot, ticks: readonly number[]): string[] {
  const isShort = (x?.max ?? 0) - (x?.min ?? 0) < 5 * MINUTE_S
  return ticks.map((at) => (isShort ? BY_SECOND : BY_MINUTE).format(at * 1_000))
}
