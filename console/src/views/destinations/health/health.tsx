import { SimpleGrid, Stack } from '@mantine/core'
import { useMemo } from 'react'
import type { Destination } from '../../../api/destinations.ts'
import { type Health, useHealth } from '../../../api/health.ts'
import { Chart } from '../../../ui/chart/chart.tsx'
import { Loaded } from '../../../ui/layout/loaded.tsx'
import { Panel } from '../../../ui/layout/page.tsx'
import { Figure } from '../../../ui/values/figure.tsx'
import { formatDuration, formatInteger } from '../../../wording/format.ts'
import { NoTraffic } from './no-traffic.tsx'
import { WebhookList } from './webhook-list.tsx'

export function DestinationHealth({ destination }: { destination: Destination }) {
  const query = useHealth(destination.id)
  return (
    <Loaded query={query}>
      {({ now, minutes, endpoints }) => (
        <Stack>
          <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }}>
            <Figure label="Delivered/min">{formatInteger(now.delivered)}</Figure>
            <Figure label="Rejected/min" isBad={now.rejected > 0}>
              {formatInteger(now.rejected)}
            </Figure>
            <Figure label="Failed attempts/min">{formatInteger(now.retry)}</Figure>
            <Figure label="Dead/min" isBad={now.dead > 0}>
              {formatInteger(now.dead)}
            </Figure>
            <Figure label="Response time p50" hint="Half of all requests take this long or less">
              {ms(now.p50)}
            </Figure>
            <Figure label="Response time p99" hint="99 % of all requests take this long or less">
              {ms(now.p99)}
            </Figure>
          </SimpleGrid>
          <NoTraffic destination={destination} minutes={minutes} />
          <Panel title="Webhooks" lead="The state of each URL and its last error.">
            <WebhookList destination={destination} endpoints={endpoints} />
          </Panel>
          <Graphs minutes={minutes} />
        </Stack>
      )}
    </Loaded>
  )
}

const ms = (value: number | null) => (value === null ? '–' : formatDuration(value))

function Graphs({ minutes }: { minutes: Health['minutes'] }) {
  const { times, outcomes, responseTimes } = useMemo(() => series(minutes), [minutes])
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel title="Deliveries/min">
        <Chart
          label="Deliveries per minute, last hour"
          times={times}
          lines={outcomes}
          format={formatInteger}
        />
      </Panel>
      <Panel title="Response time">
        <Chart label="Response time, last hour" times={times} lines={responseTimes} format={formatDuration} />
      </Panel>
    </SimpleGrid>
  )
}

/** Without deferrals: one delivery can have many, and none of them is a request. */
function series(minutes: Health['minutes']) {
  const known = minutes.filter(({ at }) => at !== null)
  const of = (name: 'delivered' | 'rejected' | 'retry' | 'refused' | 'dead' | 'p50' | 'p99') =>
    known.map((minute) => minute[name])
  return {
    times: known.map(({ at }) => at ?? ''),
    outcomes: [
      { label: 'Delivered', color: 'green' as const, values: of('delivered') },
      { label: 'Rejected', color: 'yellow' as const, values: of('rejected') },
      { label: 'Failed attempts', color: 'orange' as const, values: of('retry') },
      { label: 'Refused', color: 'grape' as const, values: of('refused') },
      { label: 'Dead', color: 'red' as const, values: of('dead') },
    ],
    responseTimes: [
      { label: 'p50', color: 'blue' as const, values: of('p50') },
      { label: 'p99', color: 'grape' as const, values: of('p99') },
    ],
  }
}
