import { Alert, Anchor, Group, Loader, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import type { Attempt, Call } from '../../api/live.ts'
import type { Source } from '../../api/sources.ts'
import { Outcome } from '../../parts/attempt-table.tsx'
import { duration } from '../../parts/time.ts'
import { useLiveCalls } from '../live/use-live-calls.ts'
import { Connect } from '../sources/connect.tsx'

/** What to send it with, and the first event as it arrives. */
export function FirstEvent({ source, destination }: { source: Source; destination: Destination }) {
  const { rows } = useLiveCalls(source.id)
  const found = rows.flatMap((row) =>
    row.kind === 'call'
      ? row.attempts
          .filter(({ destinationId }) => destinationId === destination.id)
          .map((attempt) => ({ call: row.call, attempt }))
      : [],
  )
  const delivered = found.find(({ attempt }) => attempt.outcome === 'delivered')
  const rejected = rows.find((row) => row.kind === 'rejected')
  return (
    <Stack>
      <div role="status">
        {delivered ? (
          <First {...delivered} destination={destination} />
        ) : (
          <Group gap="sm" wrap="nowrap">
            <Loader size="sm" aria-hidden="true" />
            <Text size="sm">Waiting for the first event from {source.name}. Send one:</Text>
          </Group>
        )}
      </div>
      {!delivered && found[0] && (
        <Alert color="yellow" title="It came, and was not delivered yet">
          <Outcome attempt={found[0].attempt} />
        </Alert>
      )}
      {!delivered && rejected?.kind === 'rejected' && (
        <Alert color="red" title="A call came, and was rejected">
          {rejected.rejected.message}
        </Alert>
      )}
      {!delivered && <Connect source={source} />}
    </Stack>
  )
}

function First({ call, attempt, destination }: { call: Call; attempt: Attempt; destination: Destination }) {
  return (
    <Alert color="green" title="The first event has arrived">
      <Text size="sm">
        {call.type}
        {call.event === undefined ? '' : ` “${call.event}”`} of {call.userId ?? call.anonymousId}: delivered
        to {destination.name}
        {attempt.status !== null && ` with status ${attempt.status}`} in {duration(attempt.durationMs)}.
      </Text>
      <Anchor component={Link} to={`/deliveries?messageId=${encodeURIComponent(call.messageId)}`} size="sm">
        Look at it
      </Anchor>
    </Alert>
  )
}
