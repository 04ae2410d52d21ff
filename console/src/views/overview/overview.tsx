import { SimpleGrid, Stack } from '@mantine/core'
import { useDestinations } from '../../api/destinations.ts'
import { useOverview } from '../../api/health.ts'
import { useSources } from '../../api/sources.ts'
import { Figure } from '../../parts/figure.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { rate, whole } from '../../parts/number.ts'
import { Page } from '../../parts/page.tsx'
import { StreamAlert } from '../../parts/stream-alert.tsx'
import { StreamMark } from '../../parts/stream-mark.tsx'
import { LatestLogFaults } from '../lag/log-faults.tsx'
import { isLeftOff } from '../set-up/left-off.ts'
import { FirstSteps } from './first-steps.tsx'
import { HealthTable } from './health-table.tsx'

/** How everything is, at a glance. */
export default function Overview() {
  const destinations = useDestinations()
  const sources = useSources()
  const {
    told: { health, ingest },
    freshness,
  } = useOverview()
  const sum = (name: 'delivered' | 'rejected' | 'retry' | 'dead') =>
    health?.items.reduce((total, item) => total + item[name], 0)
  return (
    <Page title="Overview" beside={<StreamMark freshness={freshness} />}>
      <StreamAlert freshness={freshness} />
      <LatestLogFaults />
      <Loaded query={destinations}>
        {(all) =>
          all.length <= 1 && all.every(isLeftOff) ? (
            <FirstSteps hasSource={(sources.data ?? []).length > 0} left={all[0]} />
          ) : (
            <Stack>
              <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }}>
                <Figure label="Calls in, a second">{ingest ? rate(ingest.perSecond) : '–'}</Figure>
                <Figure label="Rejected and kept, a second">
                  {ingest ? rate(ingest.rejectedPerSecond) : '–'}
                </Figure>
                <Figure label="Delivered, last minute">{shown(sum('delivered'))}</Figure>
                <Figure label="Rejected by receivers" isBad={(sum('rejected') ?? 0) > 0}>
                  {shown(sum('rejected'))}
                </Figure>
                <Figure label="Failed attempts">{shown(sum('retry'))}</Figure>
                <Figure label="Given up" isBad={(sum('dead') ?? 0) > 0}>
                  {shown(sum('dead'))}
                </Figure>
              </SimpleGrid>
              <HealthTable destinations={all} health={health?.items ?? []} />
            </Stack>
          )
        }
      </Loaded>
    </Page>
  )
}

const shown = (count: number | undefined) => (count === undefined ? '–' : whole(count))
