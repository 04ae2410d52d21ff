import { Anchor, Box, Table, Text } from '@mantine/core'
import type { Delivery } from '../../../api/deliveries.ts'
import { StateBadge } from '../../../ui/values/state-badge.tsx'
import { RelativeTime, Timestamp } from '../../../ui/values/time.tsx'
import { errorText } from '../../../wording/error-codes.ts'
import { DELIVERY_STATES, withStatus } from '../../../wording/states.ts'
import { visible } from '../../../wording/visible.ts'

/** Adds the status that explains the state. */
export const labelOf = ({ state, lastStatus }: Pick<Delivery, 'state' | 'lastStatus'>) =>
  withStatus(DELIVERY_STATES[state], state === 'rejected' || state === 'retrying' ? lastStatus : null)

/** On phones, narrow columns move below the event. */
export function DeliveryTable({ rows, onOpen }: { rows: readonly Delivery[]; onOpen: (id: string) => void }) {
  return (
    <Table verticalSpacing={6} highlightOnHover aria-label="Deliveries">
      <Table.Thead>
        <Table.Tr>
          <Table.Th visibleFrom="sm">Time</Table.Th>
          <Table.Th>Event and user</Table.Th>
          <Table.Th>State</Table.Th>
          <Table.Th visibleFrom="sm">Last attempt</Table.Th>
          <Table.Th visibleFrom="sm">Next attempt</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <DeliveryRow key={row.id} row={row} onOpen={onOpen} />
        ))}
      </Table.Tbody>
    </Table>
  )
}

function DeliveryRow({ row, onOpen }: { row: Delivery; onOpen: (id: string) => void }) {
  const name = row.event ?? row.type
  return (
    <Table.Tr>
      <Table.Td visibleFrom="sm">
        <Timestamp at={row.routedAt} short />
      </Table.Td>
      <Table.Td className="in-flow">
        <Anchor
          component="button"
          type="button"
          size="sm"
          fw={600}
          ta="left"
          onClick={() => onOpen(row.id)}
          aria-label={`Delivery of ${name}, message ${row.messageId}`}
        >
          {visible(name)}
        </Anchor>
        <Text size="xs" c="dimmed">
          {visible(row.user ?? 'No user')}
        </Text>
        <Box hiddenFrom="sm">
          <Text size="xs" c="dimmed" component="div">
            <Timestamp at={row.routedAt} short />
          </Text>
          <LastAttempt row={row} />
        </Box>
      </Table.Td>
      <Table.Td>
        <StateBadge {...labelOf(row)} />
        {row.replay && (
          <Text size="xs" c="dimmed">
            Replay
          </Text>
        )}
        <Box hiddenFrom="sm">
          <NextAttempt at={row.nextAttemptAt} />
        </Box>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <LastAttempt row={row} />
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <NextAttempt at={row.nextAttemptAt} />
      </Table.Td>
    </Table.Tr>
  )
}

function LastAttempt({ row: { attemptCount, lastStatus, lastCode, lastAttemptAt } }: { row: Delivery }) {
  if (lastAttemptAt === null) return null
  return (
    <Text size="sm" component="div">
      {lastCode === null ? `Status ${lastStatus}` : errorText(lastCode).meaning}
      <Text span size="xs" c="dimmed">
        {' '}
        {attemptCount > 1 && `${attemptCount} attempts`}
      </Text>
    </Text>
  )
}

function NextAttempt({ at }: { at: string | null }) {
  if (at === null) return null
  return (
    <Text size="sm" component="div">
      <RelativeTime at={at} />
    </Text>
  )
}
