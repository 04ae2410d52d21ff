import { Code, SegmentedControl, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Intake } from '../../api/health.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { duration, whole } from '../../wording/format.ts'
import { type Past, series, type Unit } from './history.ts'

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

/** What came in in the last hour, by the minute: as far as it is in Kafka, which is all that control sees of ingest. */
export function IngestChart({ ingest: { minutes } }: { ingest: Intake }) {
  const { times, lines } = useMemo(() => {
    const known = minutes.filter(({ at }) => at !== null)
    return {
      times: known.map(({ at }) => at ?? ''),
      lines: [
        { label: 'Accepted', color: 'water' as const, values: known.map(({ calls }) => calls) },
        { label: 'Rejected and kept', color: 'red' as const, values: known.map(({ rejected }) => rejected) },
      ],
    }
  }, [minutes])
  return (
    <Panel title="Calls in, a minute">
      <Chart label="Calls in a minute, of the last hour" times={times} lines={lines} format={whole} />
      <Text size="sm" c="dimmed" mt="xs">
        Not counted here, as nothing is kept of them: requests answered with 401 (no source has the write
        key), 413 (too large), 429 (over the source’s rate limit) and 503 (to be sent again). Each ingest
        process counts its answers at <Code>/metrics</Code>: <Code>sluice_ingest_requests_total</Code>, by
        code.
      </Text>
    </Panel>
  )
}
