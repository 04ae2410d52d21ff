import { Code, SegmentedControl, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Intake } from '../../api/health.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { formatDuration, formatInteger } from '../../wording/format.ts'
import { LINES } from '../../wording/states.ts'
import { type LagMoment, series, type Unit } from './history.ts'

export function LagChart({ history }: { history: readonly LagMoment[] }) {
  const [unit, setUnit] = useState<Unit>('seconds')
  const { times, lines } = useMemo(() => series(history, unit), [history, unit])
  return (
    <Panel
      title="Last hour"
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
          Collecting data…
        </Text>
      ) : (
        <Chart
          label={unit === 'seconds' ? 'Seconds behind, by group' : 'Records behind, by group'}
          times={times}
          lines={lines}
          format={unit === 'seconds' ? formatSeconds : formatInteger}
        />
      )}
    </Panel>
  )
}

const formatSeconds = (seconds: number) => formatDuration(seconds * 1_000)

/** Calls that reached Kafka in the last hour, by minute: all that control sees of ingest. */
export function IngestChart({ ingest: { minutes } }: { ingest: Intake }) {
  const { times, lines } = useMemo(() => {
    const known = minutes.filter(({ at }) => at !== null)
    return {
      times: known.map(({ at }) => at ?? ''),
      lines: [
        { label: 'Accepted', color: 'water' as const, values: known.map(({ calls }) => calls) },
        { ...LINES.rejected, values: known.map(({ rejected }) => rejected) },
      ],
    }
  }, [minutes])
  return (
    <Panel title="Calls/min">
      <Chart label="Calls per minute, last hour" times={times} lines={lines} format={formatInteger} />
      <Text size="sm" c="dimmed" mt="xs">
        Requests that ingest does not store are not counted here: 401 (unknown write key), 403 (source is
        off), 413 (too large), 429 (over the rate limit) and 503 (retry later). Each ingest process counts all
        answers by code at <Code>/metrics</Code>: <Code>sluice_ingest_requests_total</Code>.
      </Text>
    </Panel>
  )
}
