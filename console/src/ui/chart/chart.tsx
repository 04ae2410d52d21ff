import { Button, Group, Table, useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useDisclosure, useElementSize } from '@mantine/hooks'
import { useEffect, useEffectEvent, useRef } from 'react'
import uPlot from 'uplot'
import { localTime } from '../../wording/format.ts'
import { type ChartProps, dataOf, type Line, optionsOf } from './plot.ts'

export function Chart(props: ChartProps) {
  const [isTable, { toggle }] = useDisclosure()
  return (
    <div>
      {isTable ? <ChartTable {...props} /> : <ChartLines {...props} />}
      <Group justify="flex-end" mt={4}>
        <Button
          variant="subtle"
          size="compact-xs"
          onClick={toggle}
          aria-label={`${props.label}: ${isTable ? 'show the chart' : 'show as table'}`}
        >
          {isTable ? 'Show chart' : 'Show as table'}
        </Button>
      </Group>
    </div>
  )
}

const COLORS = {
  light: { grid: '#e9ecef', text: '#566069', shade: 9 },
  dark: { grid: '#373b40', text: '#a9b1b8', shade: 4 },
} as const

/** Redraws when lines, width or colors change. New values only update the plot. */
function ChartLines({ label, times, lines, format }: ChartProps) {
  const { ref, width } = useElementSize()
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const { colors } = useMantineTheme()
  const scheme = useComputedColorScheme('light')
  // by value: the list is new on every render
  const lineKeys = JSON.stringify(lines.map(({ label: name, color, dash }) => [name, color, dash]))

  const draw = useEffectEvent((at: HTMLDivElement) => {
    const { grid, text, shade } = COLORS[scheme]
    const labels = lines.map(({ label: name }) => name)
    const strokes = lines.map(({ color }) => colors[color]?.[shade] ?? 'gray')
    const dashes = lines.map(({ dash = [] }) => dash)
    const options = optionsOf({ width, grid, text, labels, strokes, dashes, format })
    return new uPlot(options, dataOf(times, lines), at)
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: lineKeys and scheme stand for what draw reads; new values must not redraw
  useEffect(() => {
    if (!container.current || width === 0) return
    const created = draw(container.current)
    plot.current = created
    return () => created.destroy()
  }, [width, scheme, lineKeys, format])

  useEffect(() => plot.current?.setData(dataOf(times, lines)), [times, lines])

  return (
    <div ref={ref} role="img" aria-label={`${label}. ${summary(lines, format)}`} className="chart">
      <div ref={container} />
    </div>
  )
}

const summary = (lines: readonly Line[], format: (value: number) => string): string =>
  lines
    .map(({ label, values }) => {
      const known = values.filter((value) => value !== null)
      const last = known.at(-1)
      return last === undefined
        ? `${label}: no data`
        : `${label}: now ${format(last)}, max ${format(Math.max(...known))}`
    })
    .join('; ')

function ChartTable({ label, times, lines, format }: ChartProps) {
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
