import { Stack } from '@mantine/core'
import type { Destination } from '../../api/destinations.ts'
import { Editing } from '../../parts/editing.tsx'
import { RemoveDestination } from './remove-destination.tsx'
import { SettingsForm } from './settings-form.tsx'

export function DestinationSettings({ destination }: { destination: Destination }) {
  return (
    <Stack>
      <Editing latest={destination}>{(edited, key) => <SettingsForm key={key} {...edited} />}</Editing>
      <RemoveDestination destination={destination} />
    </Stack>
  )
}
