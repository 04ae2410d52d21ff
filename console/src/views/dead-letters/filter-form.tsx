import { Button, Group, NativeSelect } from '@mantine/core'
import type { DeadFilter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { StatusFilter, TextFilter } from '../../ui/form/filters.tsx'
import { LAST_PERIODS } from '../../wording/format.ts'
import { deadReasonLabel } from '../../wording/states.ts'
import { isFiltered, REASONS } from './filter.ts'

type FilterProps = { filter: DeadFilter; onFilter: (filter: DeadFilter) => void }

export function FilterForm({ filter, onFilter }: FilterProps) {
  const destinations = useDestinations().data ?? []
  const { destinationId, reason, hours } = filter
  const isKnown = destinationId === undefined || destinations.some(({ id }) => id === destinationId)
  /** Undefined removes a filter. */
  function change(changed: { [name in keyof DeadFilter]: DeadFilter[name] | undefined }) {
    const given = Object.entries({ ...filter, ...changed }).filter(([, value]) => value !== undefined)
    onFilter(Object.fromEntries(given))
  }
  return (
    <Group align="flex-end" gap="xs" role="search" aria-label="Filter dead letters">
      <NativeSelect
        label="Destination"
        value={destinationId ?? ''}
        onChange={(event) => change({ destinationId: event.currentTarget.value || undefined })}
        data={[
          { value: '', label: 'All' },
          ...destinations.map(({ id, name }) => ({ value: id, label: name })),
          ...(isKnown ? [] : [{ value: destinationId, label: destinationId }]),
        ]}
        maw={280}
      />
      <NativeSelect
        label="Reason"
        value={reason ?? ''}
        onChange={(event) => change({ reason: REASONS.find((one) => one === event.currentTarget.value) })}
        data={[
          { value: '', label: 'All' },
          ...REASONS.map((one) => ({ value: one, label: deadReasonLabel(one).label })),
        ]}
      />
      <NativeSelect
        label="Period"
        value={String(hours ?? '')}
        onChange={(event) => change({ hours: Number(event.currentTarget.value) || undefined })}
        data={[{ value: '', label: 'Any time' }, ...LAST_PERIODS]}
      />
      <TextFilter label="Event" value={filter.event} onChange={(event) => change({ event })} />
      <TextFilter label="User" value={filter.user} onChange={(user) => change({ user })} />
      <StatusFilter value={filter.status} onChange={(status) => change({ status })} />
      <TextFilter
        label="Message ID"
        value={filter.messageId}
        onChange={(messageId) => change({ messageId })}
      />
      <NativeSelect
        label="Replayed"
        value={filter.replayed ?? ''}
        onChange={(event) =>
          change({ replayed: event.currentTarget.value === 'false' ? 'false' : undefined })
        }
        data={[
          { value: '', label: 'All' },
          { value: 'false', label: 'Not yet' },
        ]}
      />
      {isFiltered(filter) && (
        <Button variant="subtle" onClick={() => onFilter({})}>
          Clear
        </Button>
      )}
    </Group>
  )
}
