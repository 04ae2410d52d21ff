import { useMemo } from 'react'
import type { Intake } from '../../api/health.ts'
import { Chart } from '../../parts/chart.tsx'
import { whole } from '../../parts/number.ts'
import { Panel } from '../../parts/panel.tsx'

/** What came in in the last hour, by the minute. */
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
    </Panel>
  )
}
