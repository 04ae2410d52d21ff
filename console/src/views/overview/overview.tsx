import { Anchor, SimpleGrid, Stack, Table } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import { useActivity, type Window } from '../../api/activity.ts'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import { type DestinationNow, useOverview } from '../../api/health.ts'
import { useSources } from '../../api/sources.ts'
import {
  CallsChart,
  CardGrid,
  DeliveriesChart,
  DeliveryCards,
  LatencyChart,
  latencyHint,
  milliseconds,
  QuantileCards,
} from '../../ui/activity/figures.tsx'
import { useWindow, WINDOWS, windowQuery } from '../../ui/activity/window.ts'
import { WindowHeading } from '../../ui/activity/window-heading.tsx'
import { Sparkline } from '../../ui/chart/sparkline.tsx'
import { DataTable, numberHead } from '../../ui/layout/data-table.tsx'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { StreamAlert, StreamBadge } from '../../ui/stream-status.tsx'
import { Figure } from '../../ui/values/figure.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { formatInteger } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { wasNeverOn } from '../destinations/set-up-progress.ts'
import { LatestLogFaults } from '../lag/log-faults.tsx'
import { type HealthRow, healthRows } from './destination-state.ts'
import { FirstSteps } from './first-steps.tsx'

export default function Overview() {
  const destinations = useDestinations()
  const sources = useSources()
  const {
    values: { health },
    freshness,
  } = useOverview()
  return (
    <Page title="Overview" beside={<StreamBadge freshness={freshness} />}>
      <StreamAlert freshness={freshness} />
      <LatestLogFaults />
      <Loaded query={destinations}>
        {(all) =>
          all.length <= 1 && all.every(wasNeverOn) ? (
            <FirstSteps hasSource={(sources.data ?? []).length > 0} unfinished={all[0]} />
          ) : (
            <Traffic destinations={all} health={health?.items ?? []} />
          )
        }
      </Loaded>
    </Page>
  )
}

type TrafficProps = { destinations: readonly Destination[]; health: readonly DestinationNow[] }

function Traffic({ destinations, health }: TrafficProps) {
  const [window, setWindow] = useWindow()
  const activity = useActivity(window)
  return (
    <Stack>
      <WindowHeading window={window} onChange={setWindow} activity={activity.data} />
      <Loaded query={activity}>
        {({ total, buckets }) => (
          <>
            <CardGrid>
              <Figure label="Calls accepted" hint={`Calls accepted ${WINDOWS[window].inText}`}>
                {formatInteger(total.calls.accepted)}
              </Figure>
              <Figure
                label="Calls rejected"
                hint={`Invalid calls, refused ${WINDOWS[window].inText}`}
                isBad={total.calls.rejected > 0}
              >
                {formatInteger(total.calls.rejected)}
              </Figure>
              <DeliveryCards total={total} window={window} />
              <QuantileCards name="Latency" of={total.latency} hint={latencyHint} />
            </CardGrid>
            <SimpleGrid cols={{ base: 1, lg: 3 }}>
              <CallsChart window={window} buckets={buckets} />
              <DeliveriesChart window={window} buckets={buckets} />
              <LatencyChart window={window} buckets={buckets} />
            </SimpleGrid>
          </>
        )}
      </Loaded>
      <HealthTable
        rows={healthRows(destinations, { health, activity: activity.data?.destinations ?? [] })}
        window={window}
      />
    </Stack>
  )
}

function HealthTable({ rows: all, window }: { rows: readonly HealthRow[]; window: Window }) {
  return (
    <Panel title="Destinations" lead={`${WINDOWS[window].title}. Destinations in trouble come first.`}>
      <FilteredList
        all={all}
        what="destinations"
        textOf={({ destination: { id, name }, state }) => `${name} ${id} ${state.label}`}
      >
        {(rows) => (
          <DataTable
            label="Destinations"
            minWidth={880}
            heads={[
              'Name',
              'State',
              'Traffic',
              numberHead('Delivered'),
              numberHead('Rejected'),
              numberHead('Dead'),
              numberHead('Failed attempts'),
              numberHead('Latency p50'),
              numberHead('Latency p99'),
            ]}
          >
            {rows.map((row) => (
              <Row key={row.destination.id} {...row} window={window} />
            ))}
          </DataTable>
        )}
      </FilteredList>
    </Panel>
  )
}

/** All rows arrive every few seconds, but few change. */
const Row = memo(
  ({ destination: { id, name }, activity, state, window }: HealthRow & { window: Window }) => (
    <Table.Tr>
      <Table.Td className="in-flow" miw={120}>
        <Anchor component={Link} to={`/destinations/${id}${windowQuery(window)}`} fw={600}>
          {visible(name)}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <StateBadge label={state.label} color={state.color} explanation={state.explanation} />
      </Table.Td>
      <Table.Td>
        {activity && (
          <Sparkline label={`Traffic of ${name} by ${WINDOWS[window].bucket}`} {...activity.sparkline} />
        )}
      </Table.Td>
      <Count of={activity?.total.delivered} />
      <Count of={activity?.total.rejected} isBad />
      <Count of={activity?.total.dead} isBad />
      <Count of={activity?.total.failedAttempts} />
      <Table.Td ta="right">{activity && milliseconds(activity.total.latency.p50)}</Table.Td>
      <Table.Td ta="right">{activity && milliseconds(activity.total.latency.p99)}</Table.Td>
    </Table.Tr>
  ),
  (one, other) => JSON.stringify(one) === JSON.stringify(other),
)

/** `isBad`: any is bad. */
function Count({ of, isBad = false }: { of: number | undefined; isBad?: boolean }) {
  return (
    <Table.Td ta="right" c={isBad && of ? 'var(--mantine-color-error)' : 'inherit'}>
      {of === undefined ? '' : formatInteger(of)}
    </Table.Td>
  )
}
