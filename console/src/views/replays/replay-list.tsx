import { Button, Group, Progress, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Replay, useCancelReplay, useReplays } from '../../api/replays.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { MayManage } from '../../ui/may-manage.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { RelativeTime } from '../../ui/values/time.tsx'
import { formatInteger } from '../../wording/format.ts'

const STATES = {
  running: { label: 'Running', color: 'blue' },
  done: { label: 'Done', color: 'green' },
  cancelled: { label: 'Cancelled', color: 'gray' },
  failed: { label: 'Failed', color: 'red' },
} as const

/** Keeps the page content near the top. */
const MAX_SHOWN = 3

const REPLAYED = { dead: 'Dead letters', events: 'Events', deliveries: 'Deliveries' }

export function ReplayList({ destinationId }: { destinationId?: string }) {
  const query = useReplays(destinationId)
  const [showsAll, { open }] = useDisclosure()
  if (query.data?.length === 0 && !query.error) return null
  return (
    <Panel title="Recent replays">
      <Loaded query={query}>
        {(replays) => (
          <Stack gap="sm">
            {replays
              .filter(({ state }, index) => showsAll || index < MAX_SHOWN || state === 'running')
              .map((replay) => (
                <ReplayItem key={replay.id} replay={replay} />
              ))}
            {!showsAll && replays.length > MAX_SHOWN && (
              <Button size="compact-sm" variant="subtle" onClick={open} mr="auto">
                Show the latest {formatInteger(replays.length)}
              </Button>
            )}
          </Stack>
        )}
      </Loaded>
    </Panel>
  )
}

function ReplayItem({ replay }: { replay: Replay }) {
  const { id, destinationId, what, state, total, read, replayed, parked, createdAt, cause } = replay
  const cancel = useCancelReplay()
  const name = useDestinationNames()(destinationId)
  const percent = state === 'done' ? 100 : total === 0 ? 0 : Math.min(100, (read / total) * 100)
  return (
    <div>
      <Group gap="sm">
        <StateBadge {...STATES[state]} />
        <Text size="sm" className="in-flow">
          {REPLAYED[what]} to <b>{name}</b>: {formatInteger(replayed)} sent, {formatInteger(read)} of{' '}
          {formatInteger(total)} records read
          {parked > 0 && `, ${formatInteger(parked)} parked because they could not be replayed`}
        </Text>
        <Text size="xs" c="dimmed">
          started <RelativeTime at={createdAt} />
        </Text>
        {state === 'running' && (
          <MayManage what="destinations">
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => cancel.mutate(id)}
              loading={cancel.isPending}
              aria-label={`Cancel the replay to ${name}`}
            >
              Cancel
            </Button>
          </MayManage>
        )}
      </Group>
      {state === 'running' && (
        <Progress value={percent} mt={6} size="sm" aria-label={`Progress of the replay to ${name}`} />
      )}
      {cause && (
        <Text size="sm" c="dimmed">
          {cause.message}
        </Text>
      )}
      <ErrorAlert error={cancel.error} />
    </div>
  )
}
