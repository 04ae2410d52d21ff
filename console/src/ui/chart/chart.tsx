import { Button, Group, Table, useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useDisclosure, useElementSize } from '@mantine/hooks'
import { useEffect, useEffectEvent, useRef } from 'react'
import uPlot from 'uplot'
import { localTime } from '../../wording/format.ts'
import { type ChartParts, dataOf, type Line, optionsOf } from './plot.ts'

/** Lines over time, and the same as a table. */
export function Chart(parts: ChartParts) {
  const [isTable, { toggle }] = useDisclosure()
  return (
    <div>
      {isTable ? <ChartTable {...parts} /> : <ChartLines {...parts} />}
      <Group justify="flex-end" mt={4}>
        <Button
          variant="subtle"
          size="compact-xs"
          onClick={toggle}
          aria-label={`${parts.label}: ${isTable ? 'show the chart' : 'show as table'}`}
        >
          {isTable ? 'Show chart' : 'Show as table'}
        </Button>
      </Group>
    </div>
  )
}

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

/** What a chart shows, for who would rather read it: newest first. */
export function ChartTable({ label, times, lines, format }: ChartParts) {
  return (
    <Table.ScrollContainer minWidth={320} mah={320} scrollAreaProps={{ 'aria-label': label }}>
      <Table fz="xs" aria-label={label} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Time</Table.Th>
            {lines.map((line) => (
              <Table.Th key={line.label}>{line.label}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {times
            .map((at, index) => (
              <Table.Tr key={at}>
                <Table.Td>{localTime(at)}</Table.Td>
                {lines.map(({ label: name, values }) => (
                  <Table.Td key={name}>
                    {typeof values[index] === 'number' ? format(values[index]) : ''}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))
            .toReversed()}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
