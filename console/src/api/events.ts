import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { answered, api } from './client.ts'
import { queries } from './queries.ts'
import { eventKey, type FoundEvent, isOpen, placeOf, queryOf, refreshed, type Search } from './search.ts'

const keyOf = (search: Search) => ['events', search]

/** Where calls are. Topics are read for some seconds at a time: `fetchNextPage` searches further back. */
export const useEvents = (search: Search) =>
  useInfiniteQuery({
    queryKey: keyOf(search),
    initialPageParam: undefined as string | undefined,
    queryFn({ pageParam: cursor, signal }) {
      const query = { ...queryOf(search), ...(cursor !== undefined && { cursor }) }
      return answered(api.GET('/api/events', { params: { query }, signal }))
    },
    getNextPageParam: ({ next }) => next ?? undefined,
    // a search costs: once is enough
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })

/** What is asked for a second time is searched for a second time. */
export const searchAnew = (search: Search) => void queries.resetQueries({ queryKey: keyOf(search) })

export const stopSearch = (search: Search) => void queries.cancelQueries({ queryKey: keyOf(search) })

const MOST_OPEN = 10

/** Looked up where they lie, one after the other: control searches little at once. What cannot be is left out. */
async function lookAgain(events: readonly FoundEvent[]): Promise<FoundEvent[]> {
  const found: FoundEvent[] = []
  for (const query of events.flatMap((event) => placeOf(event) ?? [])) {
    const page = await answered(api.GET('/api/events', { params: { query } })).catch(() => undefined)
    found.push(...(page?.items ?? []))
  }
  return found
}

/** What was found, kept up to date: of those that are under way the first ten. */
export function useRefreshed(found: readonly FoundEvent[]): readonly FoundEvent[] {
  const keys = found.filter(isOpen).slice(0, MOST_OPEN).map(eventKey)
  const { data } = useQuery({
    queryKey: ['events', 'under way', keys],
    queryFn: () => lookAgain(found.filter((event) => keys.includes(eventKey(event)))),
    enabled: keys.length > 0,
    // what was found is of now
    staleTime: 10_000,
    refetchInterval: ({ state }) =>
      !state.data || state.data.length === 0 || state.data.some(isOpen) ? 10_000 : false,
    placeholderData: (before) => before,
  })
  return data ? refreshed(found, data) : found
}
