import { Alert, Group, Loader, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Destination } from '../../api/destinations.ts'
import type { Attempt, Call } from '../../api/live.ts'
import type { Source } from '../../api/sources.ts'
import { Outcome } from '../../ui/attempts/attempt-table.tsx'
import { StreamAlert, StreamBadge } from '../../ui/stream-status.tsx'
import { EventLink } from '../../ui/values/event-link.tsx'
import { formatDuration } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { useLiveCalls } from '../live/use-live-calls.ts'
import { Connect } from '../sources/connect.tsx'
import { firstCallOf } from './first-call.ts'

type FirstEventProps = { source: Source; destination: Destination }

export const FirstEvent = (props: FirstEventProps) =>
  // only Sluice sends notices, so the user cannot send a first event
  props.source.kind === 'notices' ? <Connect source={props.source} /> : <Waiting {...props} />

function Waiting({ source, destination }: FirstEventProps) {
  // by Sluice's clock
  const [turnedOnAt] = useState(destination.updatedAt)
  const { rows, state } = useLiveCalls(source.id)
  const { delivered, attempted, rejected } = firstCallOf(rows, { destinationId: destination.id, turnedOnAt })
  const freshness = { state, isUnavailable: false, updatedAt: undefined }
  return (
    <Stack>
      <div role="status">
        {delivered ? (
          <Delivered {...delivered} destination={destination} />
        ) : (
          <Group gap="sm">
            <Loader size="sm" aria-hidden="true" />
            <Text size="sm">Waiting for the first event from {visible(source.name)}. Send one:</Text>
            <StreamBadge freshness={freshness} />
          </Group>
        )}
      </div>
      <StreamAlert freshness={freshness} />
      {!delivered && attempted && (
        <Alert color="yellow" title="The event arrived but has not been delivered yet">
          <Outcome attempt={attempted} />
        </Alert>
      )}
      {!delivered && rejected && (
        <Alert color="red" title="A call arrived but was rejected">
          {rejected.message}
        </Alert>
      )}
      <Connect
        source={source}
        lead={`Paste a snippet into a terminal or a program. ${delivered ? 'You can find this again on the page of the source.' : 'The status above changes when the event arrives.'}`}
      />
    </Stack>
  )
}

function Delivered({
  call,
  attempt,
  destination,
}: {
  call: Call
  attempt: Attempt
  destination: Destination
}) {
  return (
    <Alert color="green" title="The first event has arrived">
      <Text size="sm">
        {call.type}
        {visible(
          `${call.event === undefined ? '' : ` “${call.event}”`} from ${call.userId ?? call.anonymousId}`,
        )}{' '}
        was delivered to {visible(destination.name)}
        {attempt.status !== null && ` with status ${attempt.status}`} in {formatDuration(attempt.durationMs)}.
      </Text>
      <EventLink messageId={call.messageId}>View event</EventLink>
    </Alert>
  )
}
