import { Anchor, Box, Button, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import type { Fate } from '../../api/events.ts'
import { AttemptTable } from '../../ui/attempts/attempt-table.tsx'
import type { Urls } from '../../ui/attempts/attempt-url.ts'
import { State } from '../../ui/values/state-badge.tsx'
import { Since, useNow } from '../../ui/values/when.tsx'
import { counted } from '../../wording/format.ts'
import { reasonOf, rejectedOf, stateOf } from '../../wording/states.ts'

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

const SHOWN = 3

/** The last attempts, without the times that it was put off; and all of them, for who wants to see. */
export function Attempts({ attempts, urls }: { attempts: Fate['attempts']; urls: Urls | undefined }) {
  const [isAll, { toggle }] = useDisclosure()
  if (attempts.length === 0) return null
  const made = attempts.filter(({ outcome }) => outcome !== 'deferred')
  const last = made.slice(-SHOWN)
  const putOff = attempts.length - made.length
  return (
    <>
      {(isAll || last.length > 0) && <AttemptTable attempts={isAll ? attempts : last} urls={urls} />}
      {last.length < attempts.length && (
        <Text size="sm" c="dimmed" mt={4}>
          {counted(made.length, 'attempt')}
          {putOff > 0 && `, and put off ${counted(putOff, 'time')} as the endpoint could not take it`}.{' '}
          <Button variant="subtle" size="compact-xs" onClick={toggle} aria-expanded={isAll}>
            {isAll ? 'Show fewer' : 'Show all'}
          </Button>
        </Text>
      )}
    </>
  )
}

/** Why a call does not go to a destination, by the settings of now. */
export const WHY_NOT: Record<NonNullable<Fate['reason']>, string> = {
  integrations:
    'The call itself turned it off: its integrations say "Webhooks": false, or "All": false without "Webhooks".',
  disabled: 'The destination is off. Turn it on, and replay what came in meanwhile if it is wanted.',
  type: 'The destination does not take events of this type: its settings name those that it takes.',
  source: 'The destination is not connected to this source: its settings name those that it hears of.',
  removed: 'The destination has been deleted.',
}
