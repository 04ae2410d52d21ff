import { Table } from '@mantine/core'
import type { ChartParts } from './chart-parts.ts'
import { localTime } from './time.ts'

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
