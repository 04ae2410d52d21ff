import { SimpleGrid, Stack } from '@mantine/core'
import type { Destination } from '../../../api/destinations.ts'
import { useHealth } from '../../../api/health.ts'
import { Figure } from '../../../parts/figure.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { whole } from '../../../parts/number.ts'
import { Panel } from '../../../parts/panel.tsx'
import { duration } from '../../../parts/time.ts'
import { Endpoints } from './endpoints.tsx'
import { Graphs } from './graphs.tsx'
import { NextSteps } from './next-steps.tsx'

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
