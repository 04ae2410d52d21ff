import { Anchor, SimpleGrid, Stack, Table } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import { type DestinationNow, useOverview } from '../../api/health.ts'
import { useSources } from '../../api/sources.ts'
import { Shortened } from '../../ui/layout/filtered-list.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { StreamAlert, StreamMark } from '../../ui/stream-status.tsx'
import { Figure } from '../../ui/values/figure.tsx'
import { State } from '../../ui/values/state-badge.tsx'
import { duration, rate, whole } from '../../wording/format.ts'
import { isLeftOff } from '../destinations/set-up-progress.ts'
import { LatestLogFaults } from '../lag/log-faults.tsx'
import { type HealthRow, rowsOf } from './destination-state.ts'
import { FirstSteps } from './first-steps.tsx'

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

type TableParts = { destinations: readonly Destination[]; health: readonly DestinationNow[] }

/** Each destination, those in trouble first. */
export function HealthTable({ destinations, health }: TableParts) {
  return (
    <Panel title="Destinations" lead="Of the last minute; those in trouble first.">
      <Shortened
        all={rowsOf(destinations, health)}
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
                  <Table.Th ta="right">Given up</Table.Th>
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
      </Shortened>
    </Panel>
  )
}

/** Every two seconds all are told again; few of them have changed. */
const Row = memo(
  ({ destination: { id, name }, now, state }: HealthRow) => (
    <Table.Tr>
      <Table.Td className="in-flow">
        <Anchor component={Link} to={`/destinations/${id}`} fw={600}>
          {name}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <State label={state.label} color={state.color} says={state.says} />
      </Table.Td>
      <Table.Td ta="right">{now ? whole(now.delivered) : ''}</Table.Td>
      <Table.Td ta="right">{now ? whole(now.rejected) : ''}</Table.Td>
      <Table.Td ta="right">{now ? whole(now.retry) : ''}</Table.Td>
      <Table.Td ta="right">{now ? whole(now.dead) : ''}</Table.Td>
      <Table.Td ta="right">{now?.p50 != null ? duration(now.p50) : '–'}</Table.Td>
      <Table.Td ta="right">{now?.p99 != null ? duration(now.p99) : '–'}</Table.Td>
    </Table.Tr>
  ),
  (one, other) => JSON.stringify(one) === JSON.stringify(other),
)
