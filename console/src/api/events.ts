import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { answered, api } from './client.ts'
import { queries } from './queries.ts'
import { eventKey, type FoundEvent, isOpen, placeOf, queryOf, refreshed, type Search } from './search.ts'

const keyOf = (search: Search) => ['events', search]
const UNDER_WAY = ['events', 'under way']

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
    // a search costs: once for each visit is enough
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })

/** What is asked for a second time is searched for a second time. */
export function searchAnew(search: Search): void {
  void queries.resetQueries({ queryKey: keyOf(search) })
  void queries.resetQueries({ queryKey: UNDER_WAY })
}

export const stopSearch = (search: Search) => void queries.cancelQueries({ queryKey: keyOf(search) })

const MOST_OPEN = 10
const NONE: FoundEvent[] = []

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
    queryKey: [...UNDER_WAY, keys],
    queryFn: () => lookAgain(found.filter((event) => keys.includes(eventKey(event)))),
    enabled: keys.length > 0,
    // what was found is of now: it is looked at again in a while
    gcTime: 0,
    initialData: NONE,
    staleTime: 10_000,
    refetchInterval: ({ state }) => (state.data?.length && !state.data.some(isOpen) ? false : 10_000),
  })
  return refreshed(found, data)
}
