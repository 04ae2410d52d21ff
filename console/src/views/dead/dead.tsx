import { Stack } from '@mantine/core'
import { useDead } from '../../api/dead.ts'
import { Empty } from '../../parts/empty.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { Page } from '../../parts/page.tsx'
import { Counts } from './counts.tsx'
import { isFiltered } from './filter.ts'
import { Filters } from './filters.tsx'
import { Letters } from './letters.tsx'
import { Replays } from './replays.tsx'
import { useFilter } from './use-filter.ts'

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
