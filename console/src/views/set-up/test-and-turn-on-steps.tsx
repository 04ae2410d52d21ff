import { Alert, Anchor, Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import { useSources } from '../../api/sources.ts'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { OnOff } from '../destinations/on-off.tsx'
import { TestSend } from '../webhooks/test-send.tsx'
import { FirstEvent } from './first-event.tsx'

type StepParts = { destination: Destination; onSwitched: (destination: Destination) => void }

export function TurnOnStep({ destination, onSwitched }: StepParts) {
  return (
    <Stack>
      <OnOff
        destination={destination}
        label={destination.enabled ? `${destination.name} is on` : `Turn ${destination.name} on`}
        description={`${destination.enabled ? 'Each' : 'From then on each'} event of its sources goes to its URLs.`}
        onSaved={onSwitched}
      />
      {destination.enabled && (
        <>
          <SendFirst destination={destination} />
          <Text size="sm">
            Later:{' '}
            <Anchor component={Link} to={`/destinations/${destination.id}`}>
              health, test sends and settings of {destination.name}
            </Anchor>
          </Text>
        </>
      )}
    </Stack>
  )
}

function SendFirst({ destination }: { destination: Destination }) {
  const query = useSources()
  const [sourceId, setSourceId] = useState(destination.sourceIds[0])
  return (
    <Loaded query={query}>
      {(all) => {
        const sources = all.filter(({ id }) => destination.sourceIds.includes(id))
        const source = sources.find(({ id }) => id === sourceId) ?? sources[0]
        if (!source) return <Text size="sm">It is connected to no source any more: choose one above.</Text>
        return (
          <>
            {sources.length > 1 && (
              <NativeSelect
                label="Send the first event from"
                value={source.id}
                onChange={(event) => setSourceId(event.currentTarget.value)}
                data={sources.map(({ id, name }) => ({ value: id, label: name }))}
                maw={320}
              />
            )}
            <FirstEvent key={source.id} source={source} destination={destination} />
          </>
        )
      }}
    </Loaded>
  )
}

export function TestStep({ destination, onNext }: { destination: Destination; onNext: () => void }) {
  return (
    <Stack>
      <Alert color="green" title={`${destination.name} is saved, and still off`}>
        Try whether your receiver takes a sample, before events come.
      </Alert>
      <TestSend destination={destination} />
      <Group justify="flex-end">
        <Button onClick={onNext}>Next: turn on</Button>
      </Group>
    </Stack>
  )
}
