import { Anchor, Box, Collapse, Group, Stack, Text, UnstyledButton } from '@mantine/core'
import { memo, useId } from 'react'
import { Link } from 'wouter'
import { AttemptTable } from '../../ui/attempts/attempt-table.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Json } from '../../ui/values/code.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { State } from '../../ui/values/state-badge.tsx'
import { When } from '../../ui/values/when.tsx'
import { outcomeOf } from '../../wording/states.ts'
import { type Row, upshots } from './feed.ts'

type RowParts = { row: Row; isOpened: boolean; onToggle: (id: string) => void }

/** Of hundreds of them few change with a message. */
export const LiveRow = memo(function LiveRow({ row, isOpened, onToggle }: RowParts) {
  const id = useId()
  return (
    <Box component="li" style={{ borderTop: '1px solid var(--sluice-line)' }}>
      <UnstyledButton
        className="row-button"
        onClick={() => onToggle(row.id)}
        aria-expanded={isOpened}
        aria-controls={id}
        py={8}
        px={4}
      >
        <Group gap="sm" wrap="nowrap" align="flex-start">
          <Group gap="xs" flex={1} miw={0}>
            <Text size="xs" c="dimmed" w={92}>
              <When at={row.at} short />
            </Text>
            <Head row={row} />
          </Group>
          <Box pt={4} c="dimmed" style={{ transform: isOpened ? 'rotate(180deg)' : 'none', display: 'flex' }}>
            <Icon of="down" size={16} />
          </Box>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpened} id={id}>
        <Box pb="md" px={4}>
          {isOpened && <CallDetails row={row} />}
        </Box>
      </Collapse>
    </Box>
  )
})

function Head({ row }: { row: Row }) {
  const nameOf = useDestinationNames()
  if (row.kind === 'rejected')
    return (
      <>
        <State label="Rejected" color="red" />
        <Text size="sm" className="in-flow">
          {row.rejected.message}
        </Text>
      </>
    )
  const { call, attempts } = row
  return (
    <>
      <State label="Accepted" color="blue" />
      <Text size="sm" fw={600} className="in-flow">
        {call.type}
        {(call.event ?? call.name) !== undefined && ` “${call.event ?? call.name}”`}
      </Text>
      <Text size="sm" c="dimmed" className="in-flow">
        {call.userId ?? call.anonymousId}
      </Text>
      {upshots(attempts).map(({ destinationId, outcome, status }) => (
        <Group key={destinationId} gap={4} miw={0}>
          <Text size="xs" className="in-flow">
            {nameOf(destinationId)}
          </Text>
          <State
            color={outcomeOf(outcome).color}
            label={`${outcomeOf(outcome).label}${status === null ? '' : ` (${status})`}`}
          />
        </Group>
      ))}
    </>
  )
}

export function CallDetails({ row }: { row: Row }) {
  if (row.kind === 'rejected') {
    const { code, message, raw, truncated } = row.rejected
    return (
      <Stack gap="xs">
        <Text size="sm">
          <b>{code}</b>: {message}
        </Text>
        <Json value={raw} label="What was sent" />
        {truncated && (
          <Text size="xs" c="dimmed">
            Only its beginning is shown.
          </Text>
        )}
      </Stack>
    )
  }
  const { call, attempts } = row
  return (
    <Stack gap="xs">
      {attempts.length > 0 ? (
        <AttemptTable attempts={attempts} withDestination />
      ) : (
        <Text size="sm" c="dimmed">
          No destination has been sent it so far. If that stays so, see why:
        </Text>
      )}
      <Group>
        <Anchor component={Link} to={`/deliveries?messageId=${encodeURIComponent(call.messageId)}`} size="sm">
          Where is this event?
        </Anchor>
      </Group>
      <Json value={call} label="The call" />
    </Stack>
  )
}
