import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import type { DeadFilter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { SelectFilter, StatusFilter, TextFilter, TimeFilter } from '../../ui/form/filters.tsx'
import { LAST_PERIODS } from '../../wording/format.ts'
import { deadReasonLabel } from '../../wording/states.ts'
import { visible } from '../../wording/visible.ts'
import { isFiltered, REASONS } from './filter.ts'

type FilterProps = { filter: DeadFilter; onFilter: (filter: DeadFilter) => void }
/** Undefined removes a filter. */
type Changed = { [name in keyof DeadFilter]: DeadFilter[name] | undefined }

export function FilterForm({ filter, onFilter }: FilterProps) {
  const [isCustom, setCustom] = useState(filter.since !== undefined || filter.until !== undefined)
  /** A new key empties the status field: a refused status is not in the filter. */
  const [clears, setClears] = useState(0)
  const destinations = useDestinations().data ?? []
  const { destinationId } = filter
  const isKnown = destinationId === undefined || destinations.some(({ id }) => id === destinationId)
  function change(changed: Changed) {
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
          ...destinations.map(({ id, name }) => ({ value: id, label: visible(name) })),
          ...(isKnown ? [] : [{ value: destinationId, label: visible(destinationId) }]),
        ]}
        maw={280}
      />
      <SelectFilter
        label="Reason"
        value={filter.reason}
        onChange={(value) => change({ reason: REASONS.find((one) => one === value) })}
        choices={REASONS.map((one) => ({ value: one, label: deadReasonLabel(one).label }))}
      />
      <PeriodFilter filter={filter} onChange={change} isCustom={isCustom} onCustom={setCustom} />
      <TextFilter label="Event" value={filter.event} onChange={(event) => change({ event })} />
      <TextFilter label="User" value={filter.user} onChange={(user) => change({ user })} />
      <StatusFilter key={clears} value={filter.status} onChange={(status) => change({ status })} />
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
      {(isFiltered(filter) || isCustom) && (
        <Button
          variant="subtle"
          onClick={() => {
            setCustom(false)
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

type PeriodProps = {
  filter: DeadFilter
  onChange: (changed: Changed) => void
  isCustom: boolean
  onCustom: (isCustom: boolean) => void
}

const CUSTOM = 'custom'

const PeriodFilter = ({ filter: { hours, since, until }, onChange, isCustom, onCustom }: PeriodProps) => (
  <>
    <SelectFilter
      label="Period"
      value={isCustom ? CUSTOM : hours?.toString()}
      onChange={(period) => {
        onCustom(period === CUSTOM)
        onChange({ hours: Number(period) || undefined, since: undefined, until: undefined })
      }}
      all="Any time"
      choices={[...LAST_PERIODS, { value: CUSTOM, label: 'Custom' }]}
    />
    {isCustom && (
      <>
        <TimeFilter label="From" value={since} onChange={(since) => onChange({ since })} />
        <TimeFilter label="To" value={until} onChange={(until) => onChange({ until })} />
      </>
    )}
  </>
)
