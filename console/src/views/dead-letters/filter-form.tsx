import { useState } from 'react'
import type { DeadFilter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { FilterBar, SelectFilter, StatusFilter, TextFilter, TimeFilter } from '../../ui/form/filters.tsx'
import { LAST_PERIODS } from '../../wording/format.ts'
import { deadReasonLabel } from '../../wording/states.ts'
import { visible } from '../../wording/visible.ts'
import { CUSTOM, filterFromForm, REASONS } from './filter.ts'

type FilterProps = {
  filter: DeadFilter
  onFilter: (filter: DeadFilter) => void
  isTyping: boolean
  onTyping: (isTyping: boolean) => void
}

export function FilterForm({ filter, ...props }: FilterProps) {
  const [isCustom, setCustom] = useState(filter.since !== undefined || filter.until !== undefined)
  const destinations = useDestinations().data ?? []
  const { destinationId } = filter
  const isKnown = destinationId === undefined || destinations.some(({ id }) => id === destinationId)
  return (
    <FilterBar
      {...props}
      label="Filter dead letters"
      filter={filter}
      read={(values) => filterFromForm(values, filter)}
      onClear={isCustom ? () => setCustom(false) : undefined}
    >
      <SelectFilter
        name="destinationId"
        label="Destination"
        value={destinationId}
        choices={[
          ...destinations.map(({ id, name }) => ({ value: id, label: visible(name) })),
          ...(isKnown ? [] : [{ value: destinationId, label: visible(destinationId) }]),
        ]}
        maw={280}
      />
      <SelectFilter
        name="reason"
        label="Reason"
        value={filter.reason}
        choices={REASONS.map((one) => ({ value: one, label: deadReasonLabel(one).label }))}
      />
      <SelectFilter
        name="hours"
        label="Period"
        value={isCustom ? CUSTOM : filter.hours?.toString()}
        all="Any time"
        choices={[...LAST_PERIODS, { value: CUSTOM, label: 'Custom' }]}
        onChoose={(period) => setCustom(period === CUSTOM)}
      />
      {isCustom && (
        <>
          <TimeFilter name="since" label="From" value={filter.since} />
          <TimeFilter name="until" label="To" value={filter.until} />
        </>
      )}
      <TextFilter name="event" label="Event" value={filter.event} />
      <TextFilter name="user" label="User" value={filter.user} />
      <StatusFilter value={filter.status} />
      <TextFilter name="messageId" label="Message ID" value={filter.messageId} />
      <SelectFilter
        name="replayed"
        label="Replayed"
        value={filter.replayed}
        choices={[{ value: 'false', label: 'Not yet' }]}
      />
    </FilterBar>
  )
}
