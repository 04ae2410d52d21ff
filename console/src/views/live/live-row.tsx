import { Alert, Box, Collapse, Group, Stack, Text, UnstyledButton } from '@mantine/core'
import { memo, useId } from 'react'
import { findCommand } from '../../../../cli/api/missed-calls.ts'
import { AttemptTable } from '../../ui/attempts/attempt-table.tsx'
import { Chevron } from '../../ui/layout/icon.tsx'
import { Json, Snippet } from '../../ui/values/code.tsx'
import { EventLink } from '../../ui/values/event-link.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { pluralize } from '../../wording/format.ts'
import { CALL_STATES, outcomeLabel } from '../../wording/states.ts'
import { visible } from '../../wording/visible.ts'
import { attemptsInRow, type CallRow, type MissedRow } from './feed.ts'

type RowProps = { row: CallRow; isOpened: boolean; onToggle: (id: string) => void }

/** An event changes few of hundreds of rows. */
export const LiveRow = memo(function LiveRow({ row, isOpened, onToggle }: RowProps) {
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
            <Text size="xs" c="dimmed" miw={92}>
              <Timestamp at={row.at} short />
            </Text>
            <RowHeader row={row} />
          </Group>
          <Chevron isOpened={isOpened} />
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

export const MissedCalls = ({ row: { gap }, sourceId }: { row: MissedRow; sourceId: string }) => (
  <Box component="li" py="xs" style={{ borderTop: '1px solid var(--sluice-line)' }}>
    <Alert color="yellow" title="Calls may be missing here">
      <Text size="sm" mb="xs">
        This page was disconnected for a while. To find the calls, run:
      </Text>
      <Snippet code={findCommand(gap, sourceId)} what="Command that finds the missing calls" />
    </Alert>
  </Box>
)

function RowHeader({ row }: { row: CallRow }) {
  const nameOf = useDestinationNames()
  if (row.kind === 'rejected')
    return (
      <>
        <StateBadge {...CALL_STATES.rejected} />
        <Text size="sm" className="in-flow">
          {row.rejected.message}
        </Text>
      </>
    )
  const { call, attempts } = row
  const { shown, others } = attemptsInRow(attempts)
  return (
    <>
      <StateBadge {...CALL_STATES.accepted} />
      <Text size="sm" fw={600} className="in-flow">
        {call.type}
        {(call.event ?? call.name) !== undefined && visible(` “${call.event ?? call.name}”`)}
      </Text>
      <Text size="sm" c="dimmed" className="in-flow">
        {visible(call.userId ?? call.anonymousId ?? '')}
      </Text>
      {shown.map(({ destinationId, outcome, status, code }) => (
        <Group key={destinationId} gap={4} miw={0}>
          <Text size="xs" className="in-flow">
            {nameOf(destinationId)}
          </Text>
          <StateBadge
            color={outcomeLabel({ outcome, code }).color}
            label={`${outcomeLabel({ outcome, code }).label}${status === null ? '' : `: ${status}`}`}
          />
        </Group>
      ))}
      {others > 0 && (
        <Text size="xs" c="dimmed">
          and {pluralize(others, 'other')}
        </Text>
      )}
    </>
  )
}

function CallDetails({ row }: { row: CallRow }) {
  if (row.kind === 'rejected') {
    const { code, message, raw, truncated } = row.rejected
    return (
      <Stack gap="xs">
        <Text size="sm">
          <b>{code}</b>: {message}
        </Text>
        <Json value={raw} label="Request body" />
        {truncated && (
          <Text size="xs" c="dimmed">
            Only the beginning is shown.
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
          Not sent to any destination yet. If it stays like this, find out why:
        </Text>
      )}
      <Group>
        <EventLink messageId={call.messageId}>Where is this event?</EventLink>
      </Group>
      <Json value={call} label="Call" />
    </Stack>
  )
}
