import { Anchor, Box, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import type { EventDelivery, FoundEvent } from '../../api/events.ts'
import { Attempts } from '../../ui/attempts/attempt-table.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { RelativeTime, useNow } from '../../ui/values/time.tsx'
import { decidingWords } from '../../wording/conditions.ts'
import { LIMITS } from '../../wording/limits.ts'
import { DELIVERY_STATES, deadReasonLabel, withStatus } from '../../wording/states.ts'
import { visible } from '../../wording/visible.ts'

const urlsOf = ({ webhooks, updatedAt }: Destination) => ({
  urls: webhooks.map(({ url }) => url),
  since: updatedAt,
})

export function DeliveryCard({ delivery, event }: { delivery: EventDelivery; event: FoundEvent }) {
  const { destinationId, deliveryId, state, attempts, nextAttemptAt } = delivery
  const destination = useDestinations().data?.find(({ id }) => id === destinationId)
  return (
    <Box p="sm" bg="var(--sluice-panel)" style={{ borderRadius: 'var(--mantine-radius-md)' }}>
      <Group gap="sm">
        {destination ? (
          <Anchor component={Link} to={`/destinations/${destinationId}`} fw={600} className="in-flow">
            {visible(destination.name)}
          </Anchor>
        ) : (
          <Text fw={600} className="in-flow">
            {destinationId}
          </Text>
        )}
        <StateBadge {...labelOf(delivery)} />
        {nextAttemptAt !== null && <NextAttempt at={nextAttemptAt} />}
      </Group>
      {state !== null && (
        <Text size="xs" c="dimmed" ff="monospace" className="in-flow">
          X-Delivery-Id: {visible(deliveryId ?? '')}
        </Text>
      )}
      <Explanation delivery={delivery} event={event} destination={destination} />
      <Attempts attempts={attempts} urls={destination && urlsOf(destination)} />
    </Box>
  )
}

function labelOf({ state, attempts }: EventDelivery) {
  if (state === null) return { label: 'Not sent', color: 'gray' }
  const rejected = attempts.findLast(({ outcome }) => outcome === 'rejected')
  return withStatus(DELIVERY_STATES[state], state === 'rejected' ? rejected?.status : null)
}

/** An attempt can be late when many deliveries wait. */
function NextAttempt({ at }: { at: string }) {
  const isLate = Date.parse(at) < useNow()
  return (
    <Text size="sm">
      {isLate ? 'next attempt was due ' : 'next attempt '}
      <RelativeTime at={at} />
    </Text>
  )
}

function Explanation({
  delivery: { routed, reason, condition, state, dead, attempts },
  event: { messageId, receivedAt },
  destination,
}: {
  delivery: EventDelivery
  event: FoundEvent
  destination: Destination | undefined
}) {
  const isOlderThanSettings =
    destination !== undefined && receivedAt !== null && receivedAt < destination.updatedAt
  const mayNotHaveBeenSent = isOlderThanSettings && attempts.length === 0
  return (
    <>
      {state === 'deferred' && (
        <Note>
          The delivery waits for the webhook. The next attempt follows as soon as the webhook answers again.
        </Note>
      )}
      {state === 'held' && <Note>{DELIVERY_STATES.held.explanation}</Note>}
      {!routed && reason !== null && (
        <Text size="sm" mt={4} className="in-flow">
          {[
            NOT_ROUTED[reason],
            condition === null ? undefined : decidingWords(destination?.rules, condition),
          ].join(' ')}
        </Text>
      )}
      {state === 'unknown' && (mayNotHaveBeenSent ? <SettingsChanged /> : <OlderThanAttempts />)}
      {state === 'waiting' && attempts.length === 0 && (
        <Note>The delivery is on its way. No attempt has been made yet.</Note>
      )}
      {dead && (state === 'dead' || state === 'rejected') && (
        <Note>
          {deadReasonLabel(dead.reason).explanation}{' '}
          <Anchor
            component={Link}
            to={`/dead?messageId=${encodeURIComponent(messageId ?? '')}`}
            size="sm"
            underline="always"
          >
            Replay it from the dead letters
          </Anchor>
        </Note>
      )}
    </>
  )
}

const Note = ({ children }: { children: ReactNode }) => (
  <Text size="sm" mt={4}>
    {children}
  </Text>
)

const SettingsChanged = () => (
  <Note>
    The settings of the destination changed after the event arrived. If it was off, not connected or not yet
    created, it did not get the event. To send past events, open its Replay tab.
  </Note>
)

const OlderThanAttempts = () => (
  <Text size="sm" c="dimmed" mt={4}>
    The event is older than the available attempts. It is not among the dead letters
    {LIMITS.deadKept && `, which are kept${LIMITS.deadKept}`}.
  </Text>
)

const NOT_ROUTED: Record<NonNullable<EventDelivery['reason']>, string> = {
  integrations:
    'The call itself excludes this destination: its integrations contain "Webhooks": false, or "All": false without "Webhooks".',
  disabled: 'The destination is off. Turn it on. To send the missed events, replay them.',
  type: 'The destination does not accept events of this type. See its settings.',
  source: 'The destination is not connected to this source. See its settings.',
  removed: 'The destination was deleted.',
  filtered: 'The destination’s rules filter this event out.',
  sampled_out: 'The event is not in the sample that the destination’s rules send.',
}
