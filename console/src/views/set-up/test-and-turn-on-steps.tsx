import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import { useSeesAll } from '../../api/session.ts'
import { useSources } from '../../api/sources.ts'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { visible } from '../../wording/visible.ts'
import { OnOff } from '../destinations/on-off.tsx'
import { TestSend } from '../test-send/test-send.tsx'
import { FirstEvent } from './first-event.tsx'

type StepProps = {
  destination: Destination
  onBack: () => void
  onSwitched: (destination: Destination) => void
}

export function TurnOnStep({ destination, onBack, onSwitched }: StepProps) {
  const seesAll = useSeesAll()
  return (
    <Stack>
      <OnOff
        destination={destination}
        label={visible(destination.enabled ? `${destination.name} is on` : `Turn ${destination.name} on`)}
        description={descriptionOf(destination)}
        onSaved={onSwitched}
      />
      {destination.enabled && seesAll && <FirstEventFrom destination={destination} />}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack}>
          Back
        </Button>
        <Button
          component={Link}
          to={destination.enabled ? `/destinations/${destination.id}` : '/destinations'}
          variant={destination.enabled ? 'filled' : 'default'}
        >
          {destination.enabled ? visible(`Finish: view ${destination.name}`) : 'Turn it on later'}
        </Button>
      </Group>
    </Stack>
  )
}

function descriptionOf({ enabled, paused }: Destination): string {
  if (!enabled) return 'From then on, Sluice sends events from the chosen sources to the URLs.'
  return paused
    ? 'It is paused: deliveries are held and sent after you resume it.'
    : 'Events from its sources are sent to its URLs.'
}

function FirstEventFrom({ destination }: { destination: Destination }) {
  const query = useSources()
  const [sourceId, setSourceId] = useState(destination.sourceIds[0])
  return (
    <Loaded query={query}>
      {(all) => {
        const sources = all.filter(({ id }) => destination.sourceIds.includes(id))
        const source = sources.find(({ id }) => id === sourceId) ?? sources[0]
        if (!source)
          return <Text size="sm">No source is connected anymore. Choose one in the first step.</Text>
        return (
          <>
            {sources.length > 1 && (
              <NativeSelect
                label="Source of the first event"
                value={source.id}
                onChange={(event) => setSourceId(event.currentTarget.value)}
                data={sources.map(({ id, name }) => ({ value: id, label: visible(name) }))}
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

type TestProps = { destination: Destination; onBack: () => void; onNext: () => void }

export function TestStep({ destination, onBack, onNext }: TestProps) {
  return (
    <Stack>
      {!destination.enabled && (
        <Alert color="blue" title={visible(`${destination.name} is saved but still off`)}>
          Check that your receiver accepts a sample before events arrive.
        </Alert>
      )}
      <TestSend destination={destination} />
      <Group justify="space-between">
        <Button variant="default" onClick={onBack}>
          Back
        </Button>
        <Button onClick={onNext}>Next: turn on</Button>
      </Group>
    </Stack>
  )
}
