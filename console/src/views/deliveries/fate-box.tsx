import { Anchor, Box, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import type { Fate } from '../../api/search.ts'
import { State } from '../../parts/badge.tsx'
import { Since, useNow } from '../../parts/when.tsx'
import { reasonOf, rejectedOf, stateOf } from '../../parts/words/outcomes.ts'
import { Attempts } from './attempts.tsx'
import { WHY_NOT } from './why-not.ts'

const urlsOf = ({ webhooks, updatedAt }: Destination) => ({
  urls: webhooks.map(({ url }) => url),
  since: updatedAt,
})

/** What became of a call at one destination. */
export function FateBox({ fate, messageId }: { fate: Fate; messageId: string | null }) {
  const { destinationId, deliveryId, routed, reason, state, attempts, nextAttemptAt, dead } = fate
  const destination = useDestinations().data?.find(({ id }) => id === destinationId)
  const isRejected = state === 'dead' && dead?.reason === 'rejected'
  const rejected = attempts.findLast(({ outcome }) => outcome === 'rejected')
  const shown = isRejected ? rejectedOf(rejected?.status) : stateOf(state ?? '')
  return (
    <Box p="sm" bg="var(--sluice-panel)" style={{ borderRadius: 'var(--mantine-radius-md)' }}>
      <Group gap="sm">
        {destination ? (
          <Anchor component={Link} to={`/destinations/${destinationId}`} fw={600} className="in-flow">
            {destination.name}
          </Anchor>
        ) : (
          <Text fw={600}>{destinationId}</Text>
        )}
        {state === null ? <State label="Not sent" color="gray" /> : <State {...shown} />}
        {nextAttemptAt !== null && <Next at={nextAttemptAt} />}
      </Group>
      {state !== null && (
        <Text size="xs" c="dimmed" ff="monospace" className="in-flow">
          X-Delivery-Id: {deliveryId}
        </Text>
      )}
      {state === 'retrying' && nextAttemptAt === null && (
        <Text size="sm" mt={4}>
          It waits for the endpoint: the next attempt is made as soon as that answers again.
        </Text>
      )}
      {!routed && reason !== null && (
        <Text size="sm" mt={4}>
          {WHY_NOT[reason]}
        </Text>
      )}
      {state === 'unknown' && (
        <Text size="sm" c="dimmed" mt={4}>
          It is older than the attempts that are at hand. Dead letters are kept for 14 days, and it is not
          among them.
        </Text>
      )}
      {state === 'waiting' && attempts.length === 0 && (
        <Text size="sm" mt={4}>
          It is on its way: no attempt has been made so far.
        </Text>
      )}
      {dead && state === 'dead' && (
        <Text size="sm" mt={4}>
          {reasonOf(dead.reason).says}{' '}
          <Anchor component={Link} to={`/dead?messageId=${encodeURIComponent(messageId ?? '')}`} size="sm">
            Replay it from the dead letters
          </Anchor>
        </Text>
      )}
      <Attempts attempts={attempts} urls={destination && urlsOf(destination)} />
    </Box>
  )
}

/** When it is tried again: it may be late, when much else waits. */
function Next({ at }: { at: string }) {
  const isLate = Date.parse(at) < useNow()
  return (
    <Text size="sm">
      {isLate ? 'the next attempt was due ' : 'next attempt '}
      <Since at={at} />
    </Text>
  )
}
