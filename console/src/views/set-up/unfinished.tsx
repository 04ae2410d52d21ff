import { Alert, Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { useDestinations } from '../../api/destinations.ts'
import { counted } from '../../parts/number.ts'
import { goOnWith, isLeftOff, setUpOf } from './left-off.ts'

const MOST = 3

/** Those whose set-up was left before its end, the last one first: to go on with, in place of one more. */
export function Unfinished() {
  const all = (useDestinations().data ?? [])
    .filter(isLeftOff)
    .toSorted((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1))
  if (all.length === 0) return null
  return (
    <Alert
      color="blue"
      mb="md"
      maw={820}
      title={`${counted(all.length, 'destination was', 'destinations were')} never turned on`}
    >
      {all.slice(0, MOST).map((destination) => (
        <Text key={destination.id} size="sm" className="in-flow">
          {destination.name}:{' '}
          <Anchor
            component={Link}
            to={setUpOf(destination)}
            size="sm"
            aria-label={`${goOnWith(destination)}: ${destination.name}`}
          >
            {goOnWith(destination)}
          </Anchor>
        </Text>
      ))}
      {all.length > MOST && (
        <Anchor component={Link} to="/destinations" size="sm">
          and {counted(all.length - MOST, 'other')}
        </Anchor>
      )}
    </Alert>
  )
}
