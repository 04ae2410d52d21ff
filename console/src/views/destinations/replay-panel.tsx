import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Destination } from '../../api/destinations.ts'
import { useCreateReplays } from '../../api/replays.ts'
import { Panel } from '../../parts/panel.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { Replays } from '../dead/replays.tsx'

const HOURS = [
  { value: '1', label: 'the last hour' },
  { value: '24', label: 'the last day' },
  { value: '168', label: 'the last 7 days' },
]

/** What came in, sent to this destination as if it had been there: to fill a new one, or after it was off. */
export function ReplayPanel({ destination: { id, name } }: { destination: Destination }) {
  const [hours, setHours] = useState('1')
  const [perSecond, setPerSecond] = useState('500')
  const create = useCreateReplays()
  function begin() {
    const from = new Date(Date.now() - Number(hours) * 3_600_000).toISOString()
    create.mutate([{ destinationId: id, what: 'events', from, perSecond: Number(perSecond) || 500 }])
  }
  return (
    <Stack>
      <Panel
        title="Replay events"
        lead={`Sends what came in from its sources to ${name} once more, as it is set now: to fill a new destination, or after it was off. What it has had already comes again, with the same X-Delivery-Id.`}
      >
        <Stack>
          <Group align="flex-end">
            <NativeSelect
              label="Events of"
              value={hours}
              onChange={(event) => setHours(event.currentTarget.value)}
              data={HOURS}
            />
            <TextInput
              type="number"
              label="At most a second"
              value={perSecond}
              onChange={(event) => setPerSecond(event.currentTarget.value)}
              min={1}
              max={10_000}
              w={160}
            />
            <Button onClick={begin} loading={create.isPending}>
              Replay events
            </Button>
          </Group>
          <Refusal error={create.error} title="The replay was not begun" />
          <Text size="sm" role="status">
            {create.isSuccess && 'Begun: how far it is stands below.'}
          </Text>
        </Stack>
      </Panel>
      <Replays />
    </Stack>
  )
}
