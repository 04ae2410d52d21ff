import type { DeliveryFilter } from '../../../api/deliveries.ts'
import { FilterBar, SelectFilter, StatusFilter, TextFilter } from '../../../ui/form/filters.tsx'
import { DELIVERY_STATES } from '../../../wording/states.ts'
import { filterFromParams, PERIODS, STATES } from './filter.ts'

type FilterProps = {
  filter: DeliveryFilter
  onFilter: (filter: DeliveryFilter) => void
  isTyping: boolean
  onTyping: (isTyping: boolean) => void
}

export const FilterForm = ({ filter, ...props }: FilterProps) => (
  <FilterBar {...props} label="Filter deliveries" filter={filter} read={filterFromParams}>
    <SelectFilter
      name="state"
      label="State"
      value={filter.state}
      choices={STATES.map((one) => ({ value: one, label: DELIVERY_STATES[one].label }))}
    />
    <StatusFilter value={filter.status} />
    <TextFilter name="event" label="Event" value={filter.event} />
    <TextFilter name="user" label="User" value={filter.user} />
    <TextFilter name="messageId" label="Message ID" value={filter.messageId} />
    <SelectFilter
      name="hours"
      label="Period"
      value={filter.hours?.toString()}
      all="Last 3 days"
      choices={PERIODS}
    />
  </FilterBar>
)
