import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import type { DeliveryFilter } from '../../../api/deliveries.ts'
import { SelectFilter, StatusFilter, TextFilter } from '../../../ui/form/filters.tsx'
import { DELIVERY_STATES } from '../../../wording/states.ts'
import { PERIODS, STATES } from './filter.ts'

type FilterProps = { filter: DeliveryFilter; onFilter: (filter: DeliveryFilter) => void }

export function FilterForm({ filter, onFilter }: FilterProps) {
  /** A new key empties the status field: a refused status is not in the filter. */
  const [clears, setClears] = useState(0)
  /** Undefined removes a filter. */
  function change(changed: { [name in keyof DeliveryFilter]: DeliveryFilter[name] | undefined }) {
    const given = Object.entries({ ...filter, ...changed }).filter(([, value]) => value !== undefined)
    onFilter(Object.fromEntries(given))
  }
  return (
    <Group align="flex-start" gap="xs" role="search" aria-label="Filter deliveries">
      <SelectFilter
        label="State"
        value={filter.state}
        onChange={(value) => change({ state: STATES.find((one) => one === value) })}
        choices={STATES.map((one) => ({ value: one, label: DELIVERY_STATES[one].label }))}
      />
      <StatusFilter key={clears} value={filter.status} onChange={(status) => change({ status })} />
      <TextFilter label="Event" value={filter.event} onChange={(event) => change({ event })} />
      <TextFilter label="User" value={filter.user} onChange={(user) => change({ user })} />
      <TextFilter
        label="Message ID"
        value={filter.messageId}
        onChange={(messageId) => change({ messageId })}
      />
      <SelectFilter
        label="Period"
        value={filter.hours?.toString()}
        onChange={(hours) => change({ hours: Number(hours) || undefined })}
        all="Last 3 days"
        choices={PERIODS}
      />
      {Object.keys(filter).length > 0 && (
        <Button
          variant="subtle"
          mt={24}
          onClick={() => {
            setClears(clears + 1)
            onFilter({})
          }}
        >
          Clear
        </Button>
      )}
    </Group>
  )
}
