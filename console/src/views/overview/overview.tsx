import { Anchor, SimpleGrid, Stack, Table } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import { type DestinationNow, useOverview } from '../../api/health.ts'
import { useSources } from '../../api/sources.ts'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { StreamAlert, StreamBadge } from '../../ui/stream-status.tsx'
import { Figure } from '../../ui/values/figure.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { formatDuration, formatInteger, formatRate } from '../../wording/format.ts'
import { isSetUpUnfinished } from '../destinations/set-up-progress.ts'
import { LatestLogFaults } from '../lag/log-faults.tsx'
import { type HealthRow, healthRows } from './destination-state.ts'
import { FirstSteps } from './first-steps.tsx'

export default function Overview() {
  const destinations = useDestinations()
  const sources = useSources()
  const {
    values: { health, ingest },
    freshness,
  } = useOverview()
  const sum = (name: 'delivered' | 'rejected' | 'retry' | 'dead') =>
    health?.items.reduce((total, item) => total + item[name], 0)
  return (
    <Page title="Overview" beside={<StreamBadge freshness={freshness} />}>
      <StreamAlert freshness={freshness} />
      <LatestLogFaults />
      <Loaded query={destinations}>
        {(all) =>
          all.length <= 1 && all.every(isSetUpUnfinished) ? (
            <FirstSteps hasSource={(sources.data ?? []).length > 0} unfinished={all[0]} />
          ) : (
            <Stack>
              <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }}>
                <Figure label="Calls/s">{ingest ? formatRate(ingest.perSecond) : '–'}</Figure>
                <Figure label="Rejected calls/s">
                  {ingest ? formatRate(ingest.rejectedPerSecond) : '–'}
                </Figure>
                <Figure label="Delivered/min">{formatCount(sum('delivered'))}</Figure>
                <Figure label="Rejected/min" isBad={(sum('rejected') ?? 0) > 0}>
                  {formatCount(sum('rejected'))}
                </Figure>
                <Figure label="Failed attempts/min">{formatCount(sum('retry'))}</Figure>
                <Figure label="Dead/min" isBad={(sum('dead') ?? 0) > 0}>
                  {formatCount(sum('dead'))}
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

const formatCount = (count: number | undefined) => (count === undefined ? '–' : formatInteger(count))

type TableProps = { destinations: readonly Destination[]; health: readonly DestinationNow[] }

function HealthTable({ destinations, health }: TableProps) {
  return (
    <Panel title="Destinations" lead="In the last minute. Destinations in trouble come first.">
      <FilteredList
        all={healthRows(destinations, health)}
        what="destinations"
        textOf={({ destination: { id, name }, state }) => `${name} ${id} ${state.label}`}
      >
        {(rows) => (
          <Table.ScrollContainer minWidth={720} scrollAreaProps={{ 'aria-label': 'Destinations' }}>
            <Table verticalSpacing="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>State</Table.Th>
                  <Table.Th ta="right">Delivered</Table.Th>
                  <Table.Th ta="right">Rejected</Table.Th>
                  <Table.Th ta="right">Failed attempts</Table.Th>
                  <Table.Th ta="right">Dead</Table.Th>
                  <Table.Th ta="right">p50</Table.Th>
                  <Table.Th ta="right">p99</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map((row) => (
                  <Row key={row.destination.id} {...row} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </FilteredList>
    </Panel>
  )
}

/** Memoized: all rows arrive every two seconds, and few of them have changed. */
const Row = memo(
  ({ destination: { id, name }, now, state }: HealthRow) => (
    <Table.Tr>
      <Table.Td className="in-flow">
        <Anchor component={Link} to={`/destinations/${id}`} fw={600}>
          {name}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <StateBadge label={state.label} color={state.color} explanation={state.explanation} />
      </Table.Td>
      <Table.Td ta="right">{now ? formatInteger(now.delivered) : ''}</Table.Td>
      <Table.Td ta="right">{now ? formatInteger(now.rejected) : ''}</Table.Td>
      <Table.Td ta="right">{now ? formatInteger(now.retry) : ''}</Table.Td>
      <Table.Td ta="right" c={now?.dead ? 'var(--mantine-color-error)' : 'inherit'}>
        {now ? formatInteger(now.dead) : ''}
      </Table.Td>
      <Table.Td ta="right">{now?.p50 != null ? formatDuration(now.p50) : '–'}</Table.Td>
      <Table.Td ta="right">{now?.p99 != null ? formatDuration(now.p99) : '–'}</Table.Td>
    </Table.Tr>
  ),
  (one, other) => JSON.stringify(one) === JSON.stringify(other),
)
