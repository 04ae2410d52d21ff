import { Anchor, Table } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import type { DestinationNow } from '../../api/health.ts'
import { State } from '../../parts/badge.tsx'
import { whole } from '../../parts/number.ts'
import { Panel } from '../../parts/panel.tsx'
import { duration } from '../../parts/time.ts'
import { healthOf } from './words.ts'

type TableParts = { destinations: readonly Destination[]; health: readonly DestinationNow[] }

/** Each destination, those in trouble first. */
export function HealthTable({ destinations, health }: TableParts) {
  const rows = destinations
    .map((destination) => {
      const now = health.find(({ destinationId }) => destinationId === destination.id)
      return { destination, now, state: healthOf(destination, now) }
    })
    .sort((one, other) => other.state.weight - one.state.weight)
  return (
    <Panel title="Destinations" lead="Of the last minute.">
      <Table.ScrollContainer minWidth={720} scrollAreaProps={{ 'aria-label': 'Destinations' }}>
        <Table verticalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th ta="right">Delivered</Table.Th>
              <Table.Th ta="right">Tried again</Table.Th>
              <Table.Th ta="right">Given up</Table.Th>
              <Table.Th ta="right">p50</Table.Th>
              <Table.Th ta="right">p99</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ destination: { id, name }, now, state }) => (
              <Table.Tr key={id}>
                <Table.Td>
                  <Anchor component={Link} to={`/destinations/${id}`} fw={600}>
                    {name}
                  </Anchor>
                </Table.Td>
                <Table.Td>
                  <State label={state.label} color={state.color} says={state.says} />
                </Table.Td>
                <Table.Td ta="right">{now ? whole(now.delivered) : ''}</Table.Td>
                <Table.Td ta="right">{now ? whole(now.retrying) : ''}</Table.Td>
                <Table.Td ta="right">{now ? whole(now.dead) : ''}</Table.Td>
                <Table.Td ta="right">{now?.p50 != null ? duration(now.p50) : '–'}</Table.Td>
                <Table.Td ta="right">{now?.p99 != null ? duration(now.p99) : '–'}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}
