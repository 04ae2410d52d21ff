import type uPlot from 'uplot'
import { whole } from '../../wording/format.ts'

export type Line = {
  label: string
  color: 'green' | 'yellow' | 'red' | 'blue' | 'gray' | 'grape' | 'water' | 'orange'
  values: readonly (number | null)[]
}

export type ChartParts = {
  /** What is shown, for who does not see it. */
  label: string
  /** ISO 8601, ascending; each line has a value for each. */
  times: readonly string[]
  lines: readonly Line[]
  /** A value in its unit. */
  format: (value: number) => string
}

const MINUTE_S = 60
const BY_MINUTE = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const BY_SECOND = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const HEIGHT = 200

/** How a chart looks; `strokes` by line. */
export type Look = {
  width: number
  grid: string
  text: string
  labels: readonly string[]
  strokes: readonly string[]
  format: (value: number) => string
}

export function optionsOf({ width, grid, text, labels, strokes, format }: Look): uPlot.Options {
  // of what is counted there are no halves
  const isCounted = format === whole
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
  const inUnit = (tick: number) => (isCounted && !Number.isInteger(tick) ? '' : format(tick))
  return {
    width,
    height: HEIGHT,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { range: spanned }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, values: clocked },
      { ...axis, size: 64, values: (_, ticks) => ticks.map(inUnit) },
    ],
    series: [
      { label: 'Time', value: (_, at) => (at === null ? '' : BY_SECOND.format(at * 1_000)) },
      ...labels.map((label, index) => ({
        label,
        stroke: strokes[index] ?? 'gray',
        width: 2,
        points: { show: true, size: 6, filter: alone },
        value: (_: uPlot, value: number | null) => (value === null ? '' : format(value)),
      })),
    ],
  }
}

/** @param times ISO 8601 */
export const dataOf = (times: readonly string[], lines: readonly Line[]): uPlot.AlignedData => [
  times.map((at) => Date.parse(at) / 1_000),
  ...lines.map(({ values }) => [...values]),
]

/** At least a minute: of one value alone no span can be seen. */
const spanned: uPlot.Range.Function = (_, min, max) => [Math.min(min, max - MINUTE_S), max]

/** A value with none beside it makes no line. */
function alone({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? []
  const isThere = (index: number) => values[index] !== null && values[index] !== undefined
  return [...values.keys()].filter((index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1))
}

/** As clocks are written where it is read. */
function clocked({ scales: { x } }: uPlot, ticks: readonly number[]): string[] {
  const isShort = (x?.max ?? 0) - (x?.min ?? 0) < 5 * MINUTE_S
  return ticks.map((at) => (isShort ? BY_SECOND : BY_MINUTE).format(at * 1_000))
}
