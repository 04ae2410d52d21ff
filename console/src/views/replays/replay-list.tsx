import { Button, Group, Progress, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Replay, useCancelReplay, useReplays } from '../../api/replays.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { ForAdmin } from '../../ui/for-admin.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { State } from '../../ui/values/state-badge.tsx'
import { Since } from '../../ui/values/when.tsx'
import { whole } from '../../wording/format.ts'

const STATES = {
  running: { label: 'Running', color: 'blue' },
  done: { label: 'Done', color: 'green' },
  cancelled: { label: 'Cancelled', color: 'gray' },
  failed: { label: 'Failed', color: 'red' },
} as const

/** So many are seen above what the page is about. */
const FEW = 3

/** The last replays, and how far each is. @param destinationId undefined: to any destination. */
export function Replays({ destinationId }: { destinationId?: string }) {
  const query = useReplays(destinationId)
  const [isAll, { open }] = useDisclosure()
  if (query.data?.length === 0 && !query.error) return null
  return (
    <Panel title="The last replays">
      <Loaded query={query}>
        {(replays) => (
          <Stack gap="sm">
            {replays
              .filter(({ state }, index) => isAll || index < FEW || state === 'running')
              .map((replay) => (
                <OneReplay key={replay.id} replay={replay} />
              ))}
            {!isAll && replays.length > FEW && (
              <Button size="compact-sm" variant="subtle" onClick={open} mr="auto">
                Show the last {whole(replays.length)}
              </Button>
            )}
          </Stack>
        )}
      </Loaded>
    </Panel>
  )
}

function OneReplay({ replay }: { replay: Replay }) {
  const { id, destinationId, what, state, total, read, replayed, parked, createdAt, cause } = replay
  const cancel = useCancelReplay()
  const name = useDestinationNames()(destinationId)
  const percent = state === 'done' ? 100 : total === 0 ? 0 : Math.min(100, (read / total) * 100)
  return (
    <div>
      <Group gap="sm">
        <State {...STATES[state]} />
        <Text size="sm" className="in-flow">
          {what === 'dead' ? 'Dead letters' : 'Events'} to <b>{name}</b>: {whole(replayed)} sent again,{' '}
          {whole(read)} of {whole(total)} records read
          {parked > 0 && `; ${whole(parked)} could not be read or sent, and lie in topic parked`}
        </Text>
        <Text size="xs" c="dimmed">
          begun <Since at={createdAt} />
        </Text>
        {state === 'running' && (
          <ForAdmin>
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => cancel.mutate(id)}
              loading={cancel.isPending}
              aria-label={`Cancel the replay to ${name}`}
            >
              Cancel
            </Button>
          </ForAdmin>
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
      <Refusal error={cancel.error} />
    </div>
  )
}
