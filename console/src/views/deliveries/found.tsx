import { Button, Group, Loader, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { stopSearch, useEvents, useRefreshed } from '../../api/events.ts'
import { eventKey, type Search } from '../../api/search.ts'
import { Empty } from '../../parts/empty.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { When } from '../../parts/when.tsx'
import { LogFaults } from '../lag/log-faults.tsx'
import { EventCard } from './event-card.tsx'

/** What was found; while nothing is, the search goes on by itself, further and further back. */
export function Found({ search }: { search: Search }) {
  const query = useEvents(search)
  const [isStopped, setStopped] = useState(false)
  const { data, hasNextPage, isFetching, error, fetchNextPage, refetch } = query
  const items = useRefreshed((data?.pages ?? []).flatMap((page) => page.items))
  const hasMore = hasNextPage || !data
  const goesOn = items.length === 0 && hasNextPage && !isStopped && !error
  const isSearching = isFetching || goesOn
  // the longest list has all: those of a page go back to its oldest call
  const [faults = []] = (data?.pages ?? []).map((page) => page.faults).toSorted((a, b) => b.length - a.length)
  const isMissing = items.length === 0 && !isSearching
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage()
  }, [goesOn, isFetching, fetchNextPage])

  function stop() {
    setStopped(true)
    stopSearch(search)
  }
  function goOn() {
    setStopped(false)
    void (data ? fetchNextPage() : refetch())
  }
  return (
    <Stack>
      <Refusal error={error} title="The search failed" />
      <LogFaults faults={faults.filter(({ topic }) => isMissing || topic !== 'events')} />
      {items.map((event, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls of one batch that was rejected as a whole are alike
        <EventCard key={`${eventKey(event)} ${index}`} event={event} />
      ))}
      {isSearching && items.length === 0 && (
        <Group>
          <Group role="status" gap="sm">
            <Loader size="sm" aria-hidden="true" />
            <Text size="sm">Searching what came in, newest first ...</Text>
          </Group>
          <Button variant="default" size="compact-sm" onClick={stop}>
            Stop
          </Button>
        </Group>
      )}
      {!isSearching && !error && items.length === 0 && (
        <Empty icon="search" title={hasMore ? 'Not found so far' : 'There is no such event'}>
          {hasMore
            ? 'Older events have not been searched.'
            : `Sluice has not kept such a call${search.around === undefined ? '' : ' of that time'}. A call that its client library has not sent yet, that was answered with 401 or 429, whose user is suppressed, or that is older than seven days, is not here.`}
        </Empty>
      )}
      <Group justify="space-between">
        {data && <SearchedSince at={data.pages.at(-1)?.searchedSince ?? null} />}
        {hasMore && (items.length > 0 || !isSearching) && (
          <Button variant="default" onClick={goOn} loading={isFetching}>
            Search older ones
          </Button>
        )}
      </Group>
    </Stack>
  )
}

function SearchedSince({ at }: { at: string | null }) {
  return (
    <Text size="sm" c="dimmed">
      {at === null ? (
        'All that was asked for has been searched.'
      ) : (
        <>
          Searched back to <When at={at} />.
        </>
      )}
    </Text>
  )
}
