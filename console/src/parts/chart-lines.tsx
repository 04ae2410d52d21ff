import { useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useEffectEvent, useRef } from 'react'
import uPlot from 'uplot'
import type { ChartParts, Line } from './chart-parts.ts'
import { dataOf, optionsOf } from './plot.ts'

const COLORS = {
  light: { grid: '#e9ecef', text: '#566069', shade: 7 },
  dark: { grid: '#373b40', text: '#a9b1b8', shade: 4 },
} as const

/** The lines of a chart, drawn anew when they are others or the place is; else told what is new. */
export function ChartLines({ label, times, lines, format }: ChartParts) {
  const { ref, width } = useElementSize()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const { colors } = useMantineTheme()
  const scheme = useComputedColorScheme('light')
  // what is drawn: a list is another one each time
  const drawn = JSON.stringify(lines.map(({ label: name, color }) => [name, color]))

  const draw = useEffectEvent((at: HTMLDivElement) => {
    const { grid, text, shade } = COLORS[scheme]
    const labels = lines.map(({ label: name }) => name)
    const strokes = lines.map(({ color }) => colors[color]?.[shade] ?? 'gray')
    return new uPlot(optionsOf({ width, grid, text, labels, strokes, format }), dataOf(times, lines), at)
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: what draw reads, and is not to be drawn anew for each value
  useEffect(() => {
    if (!place.current || width === 0) return
    const made = draw(place.current)
    plot.current = made
    return () => made.destroy()
  }, [width, scheme, drawn, format])

  useEffect(() => plot.current?.setData(dataOf(times, lines)), [times, lines])

  return (
    <div ref={ref} role="img" aria-label={`${label}. ${inWords(lines, format)}`} className="chart">
      <div ref={place} />
    </div>
  )
}

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
