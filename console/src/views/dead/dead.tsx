import { Stack } from '@mantine/core'
import { useDead } from '../../api/dead.ts'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { Counts } from './counts.tsx'
import { Filters } from './filters.tsx'
import { Letters } from './letters.tsx'
import { Replays } from './replays.tsx'
import { isFiltered, useFilter } from './use-filter.ts'

/** What was given up, why, and how it is sent again. */
export default function Dead() {
  const [filter, setFilter] = useFilter()
  const query = useDead(filter)
  const pages = query.data?.pages ?? []
  const letters = pages.flatMap(({ items }) => items)
  const first = pages[0]
  const isEmpty = first !== undefined && first.counts.length === 0
  return (
    <Page
      title="Dead letters"
      lead="Deliveries that were given up. They are kept for 14 days, each with its body and every attempt, and can be sent again."
    >
      <Refusal error={query.error} title="Dead letters cannot be shown now" />
      <Replays />
      {isEmpty && !isFiltered(filter) ? (
        <Empty icon="check" title="Nothing has been given up">
          Every delivery arrived, or is still being tried. What is given up later shows here, with the reason.
        </Empty>
      ) : (
        <Stack>
          {first && (
            <Counts counts={first.counts} isPartial={first.partial} filter={filter} onFilter={setFilter} />
          )}
          <Filters filter={filter} onFilter={setFilter} />
          {first && <Letters key={JSON.stringify(filter)} letters={letters} filter={filter} query={query} />}
        </Stack>
      )}
    </Page>
  )
}
