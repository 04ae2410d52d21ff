import { Alert, Anchor, Group, Loader, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import type { Attempt, Call } from '../../api/live.ts'
import type { Source } from '../../api/sources.ts'
import { Outcome } from '../../ui/attempts/attempt-table.tsx'
import { StreamAlert, StreamMark } from '../../ui/stream-status.tsx'
import { duration } from '../../wording/format.ts'
import { useLiveCalls } from '../live/use-live-calls.ts'
import { Connect } from '../sources/connect.tsx'
import { firstOf } from './first-call.ts'

/** What to send it with, and the first event as it arrives. */
export function FirstEvent({ source, destination }: { source: Source; destination: Destination }) {
  // when it was turned on, by the clock that calls have their times of
  const [onSince] = useState(destination.updatedAt)
  const { rows, state } = useLiveCalls(source.id)
  const { delivered, tried, rejected } = firstOf(rows, { destinationId: destination.id, onSince })
  const freshness = { state, isAway: false, toldAt: undefined }
  return (
    <Stack>
      <div role="status">
        {delivered ? (
          <First {...delivered} destination={destination} />
        ) : (
          <Group gap="sm">
            <Loader size="sm" aria-hidden="true" />
            <Text size="sm">Waiting for the first event from {source.name}. Send one:</Text>
            <StreamMark freshness={freshness} />
          </Group>
        )}
      </div>
      <StreamAlert freshness={freshness} />
      {!delivered && tried && (
        <Alert color="yellow" title="It came, and was not delivered yet">
          <Outcome attempt={tried} />
        </Alert>
      )}
      {!delivered && rejected && (
        <Alert color="red" title="A call came, and was rejected">
          {rejected.message}
        </Alert>
      )}
      {!delivered && (
        <Connect
          source={source}
          lead="Paste one of these into a terminal or a program: above it is said when the event has arrived."
        />
      )}
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
