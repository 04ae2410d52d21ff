import { Anchor, Table } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import type { DestinationNow } from '../../api/health.ts'
import { State } from '../../parts/badge.tsx'
import { whole } from '../../parts/number.ts'
import { Panel } from '../../parts/panel.tsx'
import { Shortened } from '../../parts/shortened.tsx'
import { duration } from '../../parts/time.ts'
import { type HealthRow, rowsOf } from './words.ts'

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
