import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import type { DeadFilter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { LAST_PERIODS } from '../../wording/format.ts'
import { deadReasonLabel } from '../../wording/states.ts'
import { isFiltered, REASONS } from './filter.ts'

type FilterProps = { filter: DeadFilter; onFilter: (filter: DeadFilter) => void }

export function FilterForm({ filter, onFilter }: FilterProps) {
  const destinations = useDestinations().data ?? []
  const { destinationId, reason, hours, messageId } = filter
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
      <TextInput
        label="Message ID"
        defaultValue={messageId ?? ''}
        key={messageId ?? ''}
        onBlur={(event) => {
          const typed = event.currentTarget.value.trim()
          if (typed !== (messageId ?? '')) change({ messageId: typed || undefined })
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
