import { Button, Group, Progress, Stack, Text } from '@mantine/core'
import { type Replay, useCancelReplay, useReplays } from '../../api/replays.ts'
import { State } from '../../parts/badge.tsx'
import { ForAdmin } from '../../parts/may-write.tsx'
import { whole } from '../../parts/number.ts'
import { Panel } from '../../parts/panel.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { Since } from '../../parts/when.tsx'

const SHOWN = 5
const STATES = {
  running: { label: 'Running', color: 'blue' },
  done: { label: 'Done', color: 'green' },
  cancelled: { label: 'Cancelled', color: 'gray' },
  failed: { label: 'Failed', color: 'red' },
} as const

/** The last replays, and how far each is. */
export function Replays() {
  const replays = useReplays().data ?? []
  if (replays.length === 0) return null
  return (
    <Panel title="Replays">
      <Stack gap="sm">
        {replays.slice(0, SHOWN).map((replay) => (
          <OneReplay key={replay.id} replay={replay} />
        ))}
      </Stack>
    </Panel>
  )
}

function OneReplay({ replay }: { replay: Replay }) {
  const { id, destinationId, what, state, total, read, replayed, parked, createdAt, cause } = replay
  const cancel = useCancelReplay()
  const percent = state === 'done' ? 100 : total === 0 ? 0 : Math.min(100, (read / total) * 100)
  return (
    <div>
      <Group gap="sm">
        <State {...STATES[state]} />
        <Text size="sm">
          {what === 'dead' ? 'Dead letters' : 'Events'} to <b>{destinationId}</b>: {whole(replayed)} sent
          again, {whole(read)} of {whole(total)} records read{parked > 0 && `, ${whole(parked)} put aside`}
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
              aria-label={`Cancel the replay to ${destinationId}`}
            >
              Cancel
            </Button>
          </ForAdmin>
        )}
      </Group>
      {state === 'running' && (
        <Progress
          value={percent}
          mt={6}
          size="sm"
          aria-label={`Progress of the replay to ${destinationId}`}
        />
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
