import { Button, Group, useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useDisclosure, useElementSize } from '@mantine/hooks'
import { useEffect, useEffectEvent, useRef } from 'react'
import uPlot from 'uplot'
import type { ChartParts, Line } from './chart-parts.ts'
import { ChartTable } from './chart-table.tsx'
import { whole } from './number.ts'

const HEIGHT = 200

const MINUTE_S = 60
const BY_MINUTE = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const BY_SECOND = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

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

/** Lines over time, and the same as a table. */
export function Chart({ label, times, lines, format }: ChartParts) {
  const [isTable, { toggle }] = useDisclosure()
  return (
    <div>
      {isTable ? (
        <ChartTable label={label} times={times} lines={lines} format={format} />
      ) : (
        <Lines label={label} times={times} lines={lines} format={format} />
      )}
      <Group justify="flex-end" mt={4}>
        <Button
          variant="subtle"
          size="compact-xs"
          onClick={toggle}
          aria-label={`${label}: ${isTable ? 'show the chart' : 'show as table'}`}
        >
          {isTable ? 'Show chart' : 'Show as table'}
        </Button>
      </Group>
    </div>
  )
}

function Lines({ label, times, lines, format }: ChartParts) {
  const { ref, width } = useElementSize()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const { colors } = useMantineTheme()
  const scheme = useComputedColorScheme('light')
  const shade = scheme === 'light' ? 7 : 4
  const strokes = lines.map(({ color }) => colors[color]?.[shade] ?? 'gray').join(' ')
  const labels = lines.map((line) => line.label).join('\n')

  const data = useEffectEvent(() => dataOf(times, lines))

  useEffect(() => {
    if (!place.current || width === 0) return
    const grid = scheme === 'light' ? '#e9ecef' : '#373b40'
    const text = scheme === 'light' ? '#566069' : '#a9b1b8'
    // of what is counted there are no halves
    const isCounted = format === whole
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
    const made = new uPlot(
      {
        width,
        height: HEIGHT,
        legend: { live: true },
        cursor: { drag: { x: false, y: false } },
        scales: { x: { range: spanned }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
        axes: [
          { ...axis, values: (plot, ticks) => clocked(plot, ticks) },
          {
            ...axis,
            size: 64,
            values: (_, ticks) =>
              ticks.map((tick) => (isCounted && !Number.isInteger(tick) ? '' : format(tick))),
          },
        ],
        series: [
          { label: 'Time', value: (_, at) => (at === null ? '' : BY_SECOND.format(at * 1_000)) },
          ...labels.split('\n').map((name, index) => ({
            label: name,
            stroke: strokes.split(' ')[index] ?? 'gray',
            width: 2,
            points: { show: true, size: 6, filter: alone },
            value: (_: uPlot, value: number | null) => (value === null ? '' : format(value)),
          })),
        ],
      },
      data(),
      place.current,
    )
    plot.current = made
    return () => made.destroy()
  }, [width, scheme, strokes, labels, format])

  useEffect(() => plot.current?.setData(dataOf(times, lines)), [times, lines])

  return (
    <div ref={ref} role="img" aria-label={`${label}. ${inWords(lines, format)}`} className="chart">
      <div ref={place} />
    </div>
  )
}

const dataOf = (times: readonly string[], lines: readonly Line[]): uPlot.AlignedData => [
  times.map((at) => Date.parse(at) / 1_000),
  ...lines.map(({ values }) => [...values]),
]

const inWords = (lines: readonly Line[], format: (value: number) => string): string =>
  lines
    .map(({ label, values }) => {
      const known = values.filter((value) => value !== null)
      const last = known.at(-1)
      return last === undefined
        ? `${label}: none`
        : `${label}: now ${format(last)}, at most ${format(Math.max(...known))}`
    })
    .join('; ')
