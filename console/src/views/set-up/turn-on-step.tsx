import { Anchor, Group, NativeSelect, Stack, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import { useSources } from '../../api/sources.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { FirstEvent } from './first-event.tsx'

type StepParts = { destination: Destination; onChanged: (destination: Destination) => void }

export function TurnOnStep({ destination, onChanged }: StepParts) {
  const replace = useReplaceDestination()
  const sources = (useSources().data ?? []).filter(({ id }) => destination.sourceIds.includes(id))
  const [sourceId, setSourceId] = useState(destination.sourceIds[0])
  const source = sources.find(({ id }) => id === sourceId)
  return (
    <Stack>
      <Switch
        size="lg"
        label={destination.enabled ? `${destination.name} is on` : `Turn ${destination.name} on`}
        description="From then on each event of its sources goes to its URLs."
        checked={destination.enabled}
        disabled={replace.isPending}
        onChange={(event) =>
          replace.mutate({ ...destination, enabled: event.currentTarget.checked }, { onSuccess: onChanged })
        }
      />
      <Refusal error={replace.error} />
      {destination.enabled && (
        <>
          {sources.length > 1 && (
            <NativeSelect
              label="Send the first event from"
              value={sourceId}
              onChange={(event) => setSourceId(event.currentTarget.value)}
              data={sources.map(({ id, name }) => ({ value: id, label: name }))}
              maw={320}
            />
          )}
          {source && <FirstEvent key={source.id} source={source} destination={destination} />}
          <Group>
            <Text size="sm">
              Later:{' '}
              <Anchor component={Link} to={`/destinations/${destination.id}`}>
                health, test sends and settings of {destination.name}
              </Anchor>
            </Text>
          </Group>
        </>
      )}
    </Stack>
  )
}
