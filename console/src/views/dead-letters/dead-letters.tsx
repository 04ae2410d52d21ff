import { Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { type DeadCount, type DeadFilter, useDeadLetters } from '../../api/dead-letters.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { formatInteger } from '../../wording/format.ts'
import { LIMITS } from '../../wording/limits.ts'
import { deadReasonLabel } from '../../wording/states.ts'
import { ReplayList } from '../replays/replay-list.tsx'
import { isFiltered, REASONS, useFilter } from './filter.ts'
import { FilterForm } from './filter-form.tsx'
import { LetterTable } from './letter-table.tsx'

export default function DeadLetters() {
  const [filter, setFilter] = useFilter()
  const [isTyping, setTyping] = useState(false)
  const query = useDeadLetters(filter)
  const hasAny = isFiltered(filter) || (query.data?.pages[0]?.counts.length ?? 0) > 0
  return (
    <Page
      title="Dead letters"
      lead={`Deliveries that ended without success. Sluice keeps each one${LIMITS.deadKept} with its body and attempts, so that you can replay it.`}
    >
      <ReplayList />
      {hasAny && <FilterForm filter={filter} onFilter={setFilter} isTyping={isTyping} onTyping={setTyping} />}
      <Loaded query={query}>
        {({ pages }) => {
          const [first] = pages
          if (!first || !hasAny)
            return (
              <Empty icon="check" title="No dead letters">
                Every delivery succeeded or is still in progress. Deliveries that end without success appear
                here with the reason.
              </Empty>
            )
          const { counts, partial: isPartial } = first
          return (
            <Stack>
              <Counts counts={counts} isPartial={isPartial} filter={filter} onFilter={setFilter} />
              <LetterTable
                key={JSON.stringify(filter)}
                letters={pages.flatMap(({ items }) => items)}
                filter={filter}
                isTyping={isTyping}
                query={query}
              />
            </Stack>
          )
        }}
      </Loaded>
    </Page>
  )
}

type CountsProps = {
  counts: readonly DeadCount[]
  isPartial: boolean
  filter: DeadFilter
  onFilter: (filter: DeadFilter) => void
}

const MAX_COUNTS = 12

function Counts({ counts, isPartial, filter, onFilter }: CountsProps) {
  const nameOf = useDestinationNames()
  const [showsAll, { toggle }] = useDisclosure()
  return (
    <div>
      <Group gap="xs">
        {counts.slice(0, showsAll ? counts.length : MAX_COUNTS).map(({ destinationId, reason, count }) => {
          const isSelected = filter.destinationId === destinationId && filter.reason === reason
          const known = REASONS.find((one) => one === reason)
          return (
            <Button
              key={`${destinationId} ${reason}`}
              size="compact-md"
              h="auto"
              mih={30}
              py={4}
              styles={{ label: { whiteSpace: 'normal', lineHeight: 1.3 } }}
              variant={isSelected ? 'filled' : 'default'}
              aria-pressed={isSelected}
              onClick={() => onFilter(isSelected ? {} : { destinationId, ...(known && { reason: known }) })}
            >
              <span>
                <b>{formatInteger(count)}</b>&nbsp;{nameOf(destinationId)}:{' '}
                {deadReasonLabel(reason).label.toLowerCase()}
              </span>
            </Button>
          )
        })}
        {counts.length > MAX_COUNTS && (
          <Button variant="subtle" size="compact-sm" onClick={toggle} aria-expanded={showsAll}>
            {showsAll ? 'Show fewer' : `${formatInteger(counts.length - MAX_COUNTS)} more`}
          </Button>
        )}
      </Group>
      {isPartial && (
        <Text size="sm" c="dimmed" mt={4}>
          Counts cover the newest 100,000 dead letters. There are more.
        </Text>
      )}
    </div>
  )
}
