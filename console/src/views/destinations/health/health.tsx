import { SimpleGrid, Stack } from '@mantine/core'
import { useMemo } from 'react'
import type { Destination } from '../../../api/destinations.ts'
import { type Health, useHealth } from '../../../api/health.ts'
import { Chart } from '../../../ui/chart/chart.tsx'
import { Loaded } from '../../../ui/layout/loaded.tsx'
import { Panel } from '../../../ui/layout/page.tsx'
import { Figure } from '../../../ui/values/figure.tsx'
import { duration, whole } from '../../../wording/format.ts'
import { NextSteps } from './no-traffic.tsx'
import { Endpoints } from './webhook-list.tsx'

/** How a destination is now, and was in the last hour. */
export function DestinationHealth({ destination }: { destination: Destination }) {
  const query = useHealth(destination.id)
  return (
    <Loaded query={query}>
      {({ now, minutes, endpoints }) => (
        <Stack>
          <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }}>
            <Figure label="Delivered, last minute">{whole(now.delivered)}</Figure>
            <Figure label="Rejected" isBad={now.rejected > 0}>
              {whole(now.rejected)}
            </Figure>
            <Figure label="Failed attempts">{whole(now.retry)}</Figure>
            <Figure label="Given up" isBad={now.dead > 0}>
              {whole(now.dead)}
            </Figure>
            <Figure label="Half of POSTs take" hint="p50">
              {ms(now.p50)}
            </Figure>
            <Figure label="99 of 100 take" hint="p99">
              {ms(now.p99)}
            </Figure>
          </SimpleGrid>
          <NextSteps destination={destination} minutes={minutes} />
          <Panel title="URLs" lead="Whether each answers, and what went wrong last.">
            <Endpoints destination={destination} endpoints={endpoints} />
          </Panel>
          <Graphs minutes={minutes} />
        </Stack>
      )}
    </Loaded>
  )
}

const ms = (value: number | null) => (value === null ? '–' : duration(value))

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
