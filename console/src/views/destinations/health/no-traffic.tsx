import { Alert, Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../../api/destinations.ts'
import type { Health } from '../../../api/health.ts'
import { ForAdmin } from '../../../ui/for-admin.tsx'
import { SourceName } from '../../../ui/values/names.tsx'
import { goOnWith, setUpOf } from '../set-up-progress.ts'

/** What to look at when there is nothing to see. */
export function NextSteps({
  destination,
  minutes,
}: {
  destination: Destination
  minutes: Health['minutes']
}) {
  const { id, enabled, sourceIds } = destination
  const hasAny = minutes.some(
    ({ delivered, rejected, retry, refused, deferred }) =>
      delivered + rejected + retry + refused + deferred > 0,
  )
  if (hasAny) return null
  const [source] = sourceIds
  return (
    <Alert color="blue" title="Nothing was sent to it in the last hour">
      <Text size="sm">
        {!enabled && (
          <>
            It is off.{' '}
            <ForAdmin>
              <Anchor component={Link} to={setUpOf(destination)} size="sm">
                {goOnWith(destination)}
              </Anchor>
            </ForAdmin>
          </>
        )}
        {enabled && source === undefined && (
          <>
            It is connected to no source:{' '}
            <Anchor component={Link} to={`/destinations/${id}/settings`} size="sm">
              choose its sources
            </Anchor>
            .
          </>
        )}
        {enabled && source !== undefined && (
          <>
            See whether calls come in at{' '}
            <Anchor component={Link} to={`/sources/${source}`} size="sm">
              <SourceName id={source} />
            </Anchor>
            , or look an event up at{' '}
            <Anchor component={Link} to="/deliveries" size="sm">
              Where is my event?
            </Anchor>
          </>
        )}
      </Text>
    </Alert>
  )
}
