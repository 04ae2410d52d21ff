import { SimpleGrid } from '@mantine/core'
import { useMemo } from 'react'
import type { Health } from '../../../api/health.ts'
import { Chart } from '../../../parts/chart.tsx'
import { whole } from '../../../parts/number.ts'
import { Panel } from '../../../parts/panel.tsx'
import { duration } from '../../../parts/time.ts'

/** The last hour by the minute. */
export function Graphs({ minutes }: { minutes: Health['minutes'] }) {
  const { times, outcomes, answers } = useMemo(() => series(minutes), [minutes])
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel title="Deliveries a minute">
        <Chart label="Deliveries a minute, of the last hour" times={times} lines={outcomes} format={whole} />
      </Panel>
      <Panel title="Time to answer">
        <Chart label="Time to answer, of the last hour" times={times} lines={answers} format={duration} />
      </Panel>
    </SimpleGrid>
  )
}

/** Deferrals are left out: of one delivery there may be many, and none is a POST. */
function series(minutes: Health['minutes']) {
  const known = minutes.filter(({ at }) => at !== null)
  const of = (name: 'delivered' | 'rejected' | 'retry' | 'refused' | 'dead' | 'p50' | 'p99') =>
    known.map((minute) => minute[name])
  return {
    times: known.map(({ at }) => at ?? ''),
    outcomes: [
      { label: 'Delivered', color: 'green' as const, values: of('delivered') },
      { label: 'Rejected', color: 'yellow' as const, values: of('rejected') },
      { label: 'Failed', color: 'orange' as const, values: of('retry') },
      { label: 'Refused', color: 'grape' as const, values: of('refused') },
      { label: 'Given up', color: 'red' as const, values: of('dead') },
    ],
    answers: [
      { label: 'p50', color: 'blue' as const, values: of('p50') },
      { label: 'p99', color: 'grape' as const, values: of('p99') },
    ],
  }
}
