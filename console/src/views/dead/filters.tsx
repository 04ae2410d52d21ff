import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { DeadFilter } from '../../api/dead.ts'
import { useDestinations } from '../../api/destinations.ts'
import { reasonOf } from '../../parts/words/outcomes.ts'
import { isFiltered, REASONS } from './use-filter.ts'

const SINCE = [
  { value: '', label: 'any time' },
  { value: '1', label: 'the last hour' },
  { value: '24', label: 'the last day' },
  { value: '168', label: 'the last 7 days' },
]

type FilterParts = { filter: DeadFilter; onFilter: (filter: DeadFilter) => void }

export function Filters({ filter, onFilter }: FilterParts) {
  const destinations = useDestinations().data ?? []
  const [hours, setHours] = useState('')
  const { destinationId, reason, since, messageId, ...none } = filter
  const kept = {
    ...none,
    ...(destinationId && { destinationId }),
    ...(reason && { reason }),
    ...(since && { since }),
    ...(messageId && { messageId }),
  }
  function changeSince(chosen: string) {
    const { since: _, ...rest } = kept
    setHours(chosen)
    const from = new Date(Date.now() - Number(chosen) * 3_600_000).toISOString()
    onFilter(chosen === '' ? rest : { ...rest, since: from })
  }
  return (
    <Group align="flex-end" gap="xs" role="search" aria-label="Filter dead letters">
      <NativeSelect
        label="Destination"
        value={destinationId ?? ''}
        onChange={(event) => {
          const { destinationId: _, ...rest } = kept
          const chosen = event.currentTarget.value
          onFilter(chosen === '' ? rest : { ...rest, destinationId: chosen })
        }}
        data={[
          { value: '', label: 'all' },
          ...destinations.map(({ id, name }) => ({ value: id, label: name })),
          ...(destinationId && !destinations.some(({ id }) => id === destinationId)
            ? [{ value: destinationId, label: destinationId }]
            : []),
        ]}
      />
      <NativeSelect
        label="Reason"
        value={reason ?? ''}
        onChange={(event) => {
          const { reason: _, ...rest } = kept
          const chosen = REASONS.find((one) => one === event.currentTarget.value)
          onFilter(chosen ? { ...rest, reason: chosen } : rest)
        }}
        data={[
          { value: '', label: 'all' },
          ...REASONS.map((one) => ({ value: one, label: reasonOf(one).label })),
        ]}
      />
      <NativeSelect
        label="Given up in"
        value={since ? hours : ''}
        onChange={(event) => changeSince(event.currentTarget.value)}
        data={SINCE}
      />
      <TextInput
        label="Message id"
        defaultValue={messageId ?? ''}
        key={messageId ?? ''}
        onBlur={(event) => {
          const { messageId: before, ...rest } = kept
          const given = event.currentTarget.value.trim()
          if (given !== (before ?? '')) onFilter(given === '' ? rest : { ...rest, messageId: given })
        }}
        onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
      />
      {isFiltered(filter) && (
        <Button variant="subtle" onClick={() => onFilter({})}>
          Clear
        </Button>
      )}
    </Group>
  )
}
