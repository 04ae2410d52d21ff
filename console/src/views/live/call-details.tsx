import { Anchor, Group, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { AttemptTable } from '../../parts/attempt-table.tsx'
import { Json } from '../../parts/json.tsx'
import type { Row } from './rows.ts'

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
