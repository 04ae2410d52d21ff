import { Alert, Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../../api/destinations.ts'
import type { Health } from '../../../api/health.ts'
import { useSeesAll } from '../../../api/session.ts'
import { MayManage } from '../../../ui/may-manage.tsx'
import { SourceName } from '../../../ui/values/names.tsx'
import { SET_UP_LABEL, setUpPath } from '../set-up-progress.ts'

export function NoTraffic({
  destination,
  minutes,
}: {
  destination: Destination
  minutes: Health['minutes']
}) {
  const { enabled, paused } = destination
  const hasTraffic = minutes.some(
    ({ delivered, rejected, retry, refused, deferred }) =>
      delivered + rejected + retry + refused + deferred > 0,
  )
  // the page already says that it is paused
  if (hasTraffic || (enabled && paused)) return null
  return (
    <Alert color="blue" title="Nothing was sent in the last hour">
      <Text size="sm">
        <WhatToDo destination={destination} />
      </Text>
    </Alert>
  )
}

function WhatToDo({ destination }: { destination: Destination }) {
  const { id, enabled, sourceIds } = destination
  const seesAll = useSeesAll()
  const [source] = sourceIds
  if (!enabled)
    return (
      <>
        The destination is off.{' '}
        <MayManage what="destinations">
          <Anchor component={Link} to={setUpPath(destination)} size="sm">
            {SET_UP_LABEL}
          </Anchor>
        </MayManage>
      </>
    )
  if (source === undefined)
    return (
      <>
        No source is connected.{' '}
        <Anchor component={Link} to={`/destinations/${id}/settings`} size="sm">
          Choose sources
        </Anchor>
      </>
    )
  if (!seesAll) return 'Its sources sent no events for it.'
  return (
    <>
      Check whether calls arrive at{' '}
      <Anchor component={Link} to={`/sources/${source}`} size="sm">
        <SourceName id={source} />
      </Anchor>
      , or search for an event in{' '}
      <Anchor component={Link} to="/deliveries" size="sm">
        Where is my event?
      </Anchor>
    </>
  )
}
