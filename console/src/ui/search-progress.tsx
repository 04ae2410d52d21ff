import { Button, Group, Loader, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Timestamp } from './values/time.tsx'

type Query = {
  data: unknown
  error: unknown
  hasNextPage: boolean
  isFetching: boolean
  fetchNextPage: () => Promise<unknown>
  refetch: () => Promise<unknown>
}

/** Searches further back until something is found or the user stops. */
export function useSearchProgress(query: Query, { isFound }: { isFound: boolean }) {
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = query
  const [isStopped, setStopped] = useState(false)
  const continues = !isFound && hasNextPage && !isStopped && !error
  useEffect(() => {
    if (continues && !isFetching) void fetchNextPage()
  }, [continues, isFetching, fetchNextPage])
  return {
    isSearching: isFetching || continues,
    hasMore: hasNextPage || !data,
    stop: () => setStopped(true),
    resume() {
      setStopped(false)
      void (data ? fetchNextPage() : refetch())
    },
  }
}

export const Searching = ({ onStop }: { onStop: () => void }) => (
  <Group>
    <Group role="status" gap="sm">
      <Loader size="sm" aria-hidden="true" />
      <Text size="sm">Searching, newest first…</Text>
    </Group>
    <Button variant="default" size="compact-sm" onClick={onStop}>
      Stop
    </Button>
  </Group>
)

/** @param at how far back the search has come; null if complete. */
export function SearchedSince({ at }: { at: string | null }) {
  if (at === null) return 'Search complete.'
  return (
    <>
      Searched back to <Timestamp at={at} />.
    </>
  )
}
