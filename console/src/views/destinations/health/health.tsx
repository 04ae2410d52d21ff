import { SimpleGrid, Stack } from '@mantine/core'
import { useDestinationActivity } from '../../../api/activity.ts'
import type { Destination } from '../../../api/destinations.ts'
import { useHealth } from '../../../api/health.ts'
import {
  CardGrid,
  DeliveriesChart,
  DeliveryCards,
  LatencyChart,
  latencyHint,
  QuantileCards,
  ResponseTimeChart,
  responseTimeHint,
} from '../../../ui/activity/figures.tsx'
import { useWindow } from '../../../ui/activity/window.ts'
import { WindowHeading } from '../../../ui/activity/window-heading.tsx'
import { Loaded } from '../../../ui/layout/loaded.tsx'
import { Panel } from '../../../ui/layout/page.tsx'
import { NoTraffic } from './no-traffic.tsx'
import { WebhookList } from './webhook-list.tsx'

export function DestinationHealth({ destination }: { destination: Destination }) {
  const query = useHealth(destination.id)
  return (
    <Loaded query={query}>
      {({ minutes, endpoints }) => (
        <Stack>
          <NoTraffic destination={destination} minutes={minutes} />
          <Panel title="Webhooks" lead="The state of each webhook and its last error.">
            <WebhookList destination={destination} endpoints={endpoints} />
          </Panel>
          <Traffic id={destination.id} />
        </Stack>
      )}
    </Loaded>
  )
}

function Traffic({ id }: { id: string }) {
  const [window, setWindow] = useWindow()
  const activity = useDestinationActivity(id, window)
  return (
    <>
      <WindowHeading window={window} onChange={setWindow} activity={activity.data} />
      <Loaded query={activity}>
        {({ total, buckets }) => (
          <>
            <CardGrid>
              <DeliveryCards total={total} window={window} />
              <QuantileCards name="Latency" of={total.latency} hint={latencyHint} />
              <QuantileCards name="Response time" of={total.responseTime} hint={responseTimeHint} />
            </CardGrid>
            <SimpleGrid cols={{ base: 1, lg: 3 }}>
              <DeliveriesChart window={window} buckets={buckets} />
              <LatencyChart window={window} buckets={buckets} />
              <ResponseTimeChart window={window} buckets={buckets} />
            </SimpleGrid>
          </>
        )}
      </Loaded>
    </>
  )
}
