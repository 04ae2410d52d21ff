import { Button, Group } from '@mantine/core'
import type { DeadFilter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { SelectFilter, StatusFilter, TextFilter } from '../../ui/form/filters.tsx'
import { LAST_PERIODS } from '../../wording/format.ts'
import { deadReasonLabel } from '../../wording/states.ts'
import { isFiltered, REASONS } from './filter.ts'

type FilterProps = { filter: DeadFilter; onFilter: (filter: DeadFilter) => void }

export function FilterForm({ filter, onFilter }: FilterProps) {
  const destinations = useDestinations().data ?? []
  const { destinationId } = filter
  const isKnown = destinationId === undefined || destinations.some(({ id }) => id === destinationId)
  /** Undefined removes a filter. */
  function change(changed: { [name in keyof DeadFilter]: DeadFilter[name] | undefined }) {
    const given = Object.entries({ ...filter, ...changed }).filter(([, value]) => value !== undefined)
    onFilter(Object.fromEntries(given))
  }
  return (
    <Group align="flex-end" gap="xs" role="search" aria-label="Filter dead letters">
      <SelectFilter
        label="Destination"
        value={destinationId}
        onChange={(next) => change({ destinationId: next })}
        choices={[
          ...destinations.map(({ id, name }) => ({ value: id, label: name })),
          ...(isKnown ? [] : [{ value: destinationId, label: destinationId }]),
        ]}
        maw={280}
      />
      <SelectFilter
        label="Reason"
        value={filter.reason}
        onChange={(value) => change({ reason: REASONS.find((one) => one === value) })}
        choices={REASONS.map((one) => ({ value: one, label: deadReasonLabel(one).label }))}
      />
      <SelectFilter
        label="Period"
        value={filter.hours?.toString()}
        onChange={(hours) => change({ hours: Number(hours) || undefined })}
        all="Any time"
        choices={LAST_PERIODS}
      />
      <TextFilter label="Event" value={filter.event} onChange={(event) => change({ event })} />
      <TextFilter label="User" value={filter.user} onChange={(user) => change({ user })} />
      <StatusFilter value={filter.status} onChange={(status) => change({ status })} />
      <TextFilter
        label="Message ID"
        value={filter.messageId}
        onChange={(messageId) => change({ messageId })}
      />
      <SelectFilter
        label="Replayed"
        value={filter.replayed}
        onChange={(value) => change({ replayed: value === 'false' ? value : undefined })}
        choices={[{ value: 'false', label: 'Not yet' }]}
      />
      {isFiltered(filter) && (
        <Button variant="subtle" onClick={() => onFilter({})}>
          Clear
        </Button>
      )}
    </Group>
  )
}
