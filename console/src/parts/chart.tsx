import { Button, Group } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChartLines } from './chart-lines.tsx'
import type { ChartParts } from './chart-parts.ts'
import { ChartTable } from './chart-table.tsx'

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
