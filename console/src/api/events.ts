import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { answered, api } from './client.ts'
import { queries } from './query-client.ts'
import type { components } from './schema.ts'

export type FoundEvent = components['schemas']['Event']
export type Fate = FoundEvent['destinations'][number]

export const BY = ['messageId', 'userId', 'anonymousId', 'deliveryId'] as const
export type By = (typeof BY)[number]
/** `around`: ISO 8601, when it came in, to half an hour. */
export type Search = { by: By; value: string; sourceId?: string; around?: string }

const HALF_HOUR_MS = 30 * 60_000

/** As the API is asked for it. */
export function queryOf({ by, value, sourceId, around }: Search) {
  const at = around === undefined ? Number.NaN : Date.parse(around)
  return {
    [by]: value,
    ...(sourceId !== undefined && { sourceId }),
    ...(!Number.isNaN(at) && within(at, { before: HALF_HOUR_MS, after: HALF_HOUR_MS })),
  }
}

const within = (at: number, { before, after }: { before: number; after: number }) => ({
  since: new Date(at - before).toISOString(),
  until: new Date(at + after).toISOString(),
})

/** What is searched for, as a page's address says it. */
export function searchIn(params: URLSearchParams): Search | undefined {
  const by = BY.find((name) => params.get(name))
  const [sourceId, around] = [params.get('sourceId'), params.get('around')]
  return by && { by, value: params.get(by) ?? '', ...(sourceId && { sourceId }), ...(around && { around }) }
}

/** It may change by itself: an attempt is to come. */
export const isOpen = ({ destinations }: FoundEvent): boolean =>
  destinations.some(({ state }) => state === 'waiting' || state === 'retrying')

export const eventKey = ({ sourceId, messageId, receivedAt }: FoundEvent): string =>
  [sourceId, messageId, receivedAt].join(' ')

/** A call is written when it has come in, as far as clocks agree. */
const NEAR = { before: 5_000, after: 20_000 }

/** Where an event that was found lies. @returns undefined: it says too little of itself. */
export const placeOf = ({ sourceId, messageId, receivedAt }: FoundEvent) =>
  messageId === null || receivedAt === null
    ? undefined
    : { sourceId, messageId, ...within(Date.parse(receivedAt), NEAR) }

/** Events, with what is known of them now in place of what was known when they were found. */
export function refreshed(found: readonly FoundEvent[], now: readonly FoundEvent[]): FoundEvent[] {
  const byKey = new Map(now.map((event) => [eventKey(event), event]))
  return found.map((event) => (event.rejected ? event : (byKey.get(eventKey(event)) ?? event)))
}

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
