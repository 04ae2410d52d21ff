import { SegmentedControl, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Look } from '../../api/lag.ts'
import { Chart } from '../../parts/chart.tsx'
import type { Line } from '../../parts/chart-parts.ts'
import { whole } from '../../parts/number.ts'
import { Panel } from '../../parts/panel.tsx'
import { duration } from '../../parts/time.ts'
import { groupsOf } from './group.ts'

const COLORS = ['water', 'blue', 'orange', 'grape', 'gray', 'red'] as const
type Unit = 'seconds' | 'records'

/** Each group since the page was opened. */
export function LagChart({ looks }: { looks: readonly Look[] }) {
  const [unit, setUnit] = useState<Unit>('seconds')
  const { times, lines } = useMemo(() => series(looks, unit), [looks, unit])
  return (
    <Panel
      title="Since this page was opened"
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Unit"
          value={unit}
          onChange={setUnit}
          data={[
            { value: 'seconds', label: 'Seconds behind' },
            { value: 'records', label: 'Records' },
          ]}
        />
      }
    >
      {times.length < 2 ? (
        <Text size="sm" c="dimmed" role="status">
          Two looks make a line: one moment ...
        </Text>
      ) : (
        <Chart
          label={unit === 'seconds' ? 'Seconds behind, by group' : 'Records behind, by group'}
          times={times}
          lines={lines}
          format={unit === 'seconds' ? inSeconds : whole}
        />
      )}
    </Panel>
  )
}

const inSeconds = (seconds: number) => duration(seconds * 1_000)

function series(looks: readonly Look[], unit: Unit): { times: string[]; lines: Line[] } {
  const seen = looks.map(({ items }) => new Map(groupsOf(items).map((group) => [group.group, group])))
  const names = [...(seen.at(-1)?.keys() ?? [])]
  return {
    times: looks.map(({ at }) => at),
    lines: names.map((label, index) => ({
      label,
      color: COLORS[index % COLORS.length] ?? 'gray',
      values: seen.map((groups) => groups.get(label)?.[unit] ?? null),
    })),
  }
}
