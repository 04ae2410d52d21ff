import { Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { Destination } from '../../api/destinations.ts'
import { useOpened } from '../../parts/opened.ts'
import { RemoveDestination } from './remove-destination.tsx'
import { SettingsForm } from './settings-form.tsx'

export type OpenedParts = { destination: Destination; refetch: UseQueryResult<Destination>['refetch'] }

export function DestinationSettings({ destination, refetch }: OpenedParts) {
  const { opened, show, reload, touch } = useOpened(destination, refetch)
  const [isSaved, setSaved] = useState(false)
  return (
    <Stack>
      <SettingsForm
        key={opened.version}
        destination={opened}
        isSaved={isSaved}
        onReload={reload}
        onTouch={touch}
        onSaved={(saved) => {
          setSaved(true)
          show(saved)
        }}
      />
      <RemoveDestination destination={opened} />
    </Stack>
  )
}
