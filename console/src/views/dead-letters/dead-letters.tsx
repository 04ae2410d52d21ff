import { Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type DeadCount, type DeadFilter, useDead } from '../../api/dead-letters.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { counted, whole } from '../../wording/format.ts'
import { reasonOf } from '../../wording/states.ts'
import { Replays } from '../replays/replay-list.tsx'
import { isFiltered, REASONS, useFilter } from './filter.ts'
import { Filters } from './filter-form.tsx'
import { Letters } from './letter-table.tsx'

/** What was given up, why, and how it is sent again. */
export default function Dead() {
  const [filter, setFilter] = useFilter()
  const query = useDead(filter)
  const isAny = isFiltered(filter) || (query.data?.pages[0]?.counts.length ?? 0) > 0
  return (
    <Page
      title="Dead letters"
      lead="Deliveries that were given up. They are kept for 14 days, each with its body and every attempt, and can be sent again."
    >
      <Replays />
      {isAny && <Filters filter={filter} onFilter={setFilter} />}
      <Loaded query={query}>
        {({ pages }) => {
          const [first] = pages
          if (!first || !isAny)
            return (
              <Empty icon="check" title="Nothing has been given up">
                Every delivery arrived, or is still being tried. What is given up later shows here, with the
                reason.
              </Empty>
            )
          const { counts, partial: isPartial } = first
          return (
            <Stack>
              <Counts counts={counts} isPartial={isPartial} filter={filter} onFilter={setFilter} />
              <Letters
                key={JSON.stringify(filter)}
                letters={pages.flatMap(({ items }) => items)}
                filter={filter}
                there={{ counts, isPartial }}
                query={query}
              />
            </Stack>
          )
        }}
      </Loaded>
    </Page>
  )
}

type CountsParts = {
  counts: readonly DeadCount[]
  isPartial: boolean
  filter: DeadFilter
  onFilter: (filter: DeadFilter) => void
}

const FEW = 12

/** How many there are of each destination and reason, the most first; one chosen shows those alone. */
export function Counts({ counts, isPartial, filter, onFilter }: CountsParts) {
  const nameOf = useDestinationNames()
  const [isAll, { toggle }] = useDisclosure()
  return (
    <div>
      <Group gap="xs">
        {counts.slice(0, isAll ? counts.length : FEW).map(({ destinationId, reason, count }) => {
          const isChosen = filter.destinationId === destinationId && filter.reason === reason
          const known = REASONS.find((one) => one === reason)
          return (
            <Button
              key={`${destinationId} ${reason}`}
              size="compact-md"
              h="auto"
              mih={30}
              py={4}
              styles={{ label: { whiteSpace: 'normal', lineHeight: 1.3 } }}
              variant={isChosen ? 'filled' : 'default'}
              aria-pressed={isChosen}
              onClick={() => onFilter(isChosen ? {} : { destinationId, ...(known && { reason: known }) })}
            >
              <span>
                <b>{whole(count)}</b>&nbsp;{nameOf(destinationId)}: {reasonOf(reason).label.toLowerCase()}
              </span>
            </Button>
          )
        })}
        {counts.length > FEW && (
          <Button variant="subtle" size="compact-sm" onClick={toggle} aria-expanded={isAll}>
            {isAll ? 'Show fewer' : counted(counts.length - FEW, 'more', 'more')}
          </Button>
        )}
      </Group>
      {isPartial && (
        <Text size="sm" c="dimmed" mt={4}>
          Of the last 100,000: there are more.
        </Text>
      )}
    </div>
  )
}
