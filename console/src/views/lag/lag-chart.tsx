import { SegmentedControl, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { Chart } from '../../parts/chart.tsx'
import { whole } from '../../parts/number.ts'
import { Panel } from '../../parts/panel.tsx'
import { duration } from '../../parts/time.ts'
import { type Past, series, type Unit } from './past.ts'

/** Each group, as far as it is known. */
export function LagChart({ past }: { past: readonly Past[] }) {
  const [unit, setUnit] = useState<Unit>('seconds')
  const { times, lines } = useMemo(() => series(past, unit), [past, unit])
  return (
    <Panel
      title="The last hour"
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
          The chart begins in a moment ...
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
