import { useQuery } from '@tanstack/react-query'
import { api, resultOf } from './client/client.ts'
import { queryClient } from './client/query-client.ts'
import type { components } from './client/schema.ts'
import { useSearch } from './client/search.ts'
import { isInProgress } from './deliveries.ts'
import { useSeesAll } from './session.ts'

export type FoundEvent = components['schemas']['Event']
export type EventDelivery = FoundEvent['destinations'][number]

export const SEARCH_FIELDS = ['messageId', 'userId', 'anonymousId', 'event', 'deliveryId'] as const
export type SearchField = (typeof SEARCH_FIELDS)[number]
/** `around`: ISO 8601; searches half an hour before and after. */
export type Search = { by: SearchField; value: string; sourceId?: string; around?: string }

const HALF_HOUR_MS = 30 * 60_000

export function toQuery({ by, value, sourceId, around }: Search) {
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

export function searchFromParams(params: URLSearchParams): Search | undefined {
  const by = SEARCH_FIELDS.find((name) => params.get(name))
  const [sourceId, around] = [params.get('sourceId'), params.get('around')]
  return by && { by, value: params.get(by) ?? '', ...(sourceId && { sourceId }), ...(around && { around }) }
}

export const isPending = ({ destinations }: FoundEvent): boolean =>
  destinations.some(({ state }) => isInProgress(state))

export const eventKey = ({ sourceId, messageId, receivedAt }: FoundEvent): string =>
  [sourceId, messageId, receivedAt].join(' ')

/** In ms around `receivedAt`, for the time when a call's record was written: clocks differ. */
const CLOCK_TOLERANCE = { before: 5_000, after: 20_000 }

/** Finds an event again. @returns undefined if it lacks an id or a time. */
const locationOf = ({ sourceId, messageId, receivedAt }: FoundEvent) =>
  messageId === null || receivedAt === null
    ? undefined
    : { sourceId, messageId, ...within(Date.parse(receivedAt), CLOCK_TOLERANCE) }

export function withUpdates(found: readonly FoundEvent[], updates: readonly FoundEvent[]): FoundEvent[] {
  const byKey = new Map(updates.map((event) => [eventKey(event), event]))
  return found.map((event) => (event.rejected ? event : (byKey.get(eventKey(event)) ?? event)))
}

const keyOf = (search: Search) => ['events', search]
const PENDING_KEY = ['events', 'pending']

export const useEvents = (search: Search) =>
  useSearch(keyOf(search), (from, signal) =>
    resultOf(api.GET('/api/events', { params: { query: { ...toQuery(search), ...from } }, signal })),
  )

export function restartSearch(search: Search): void {
  void queryClient.resetQueries({ queryKey: keyOf(search) })
  void queryClient.resetQueries({ queryKey: PENDING_KEY })
}

export const stopSearch = (search: Search) => void queryClient.cancelQueries({ queryKey: keyOf(search) })

const MAX_RECENT = 50

export const useRecentCalls = ({ id, sourceIds }: { id: string; sourceIds: readonly string[] }) =>
  useQuery({
    queryKey: ['events', 'recent', id, sourceIds],
    async queryFn() {
      const [only, ...others] = sourceIds
      const query = {
        destinationId: id,
        limit: MAX_RECENT,
        ...(only !== undefined && others.length === 0 && { sourceId: only }),
      }
      const { items } = await resultOf(api.GET('/api/events', { params: { query } }))
      return items.filter(({ rejected, sourceId }) => !rejected && sourceIds.includes(sourceId))
    },
    enabled: useSeesAll() && sourceIds.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })

const MAX_UPDATED = 10
const NONE: FoundEvent[] = []

/** One request at a time, because control allows few parallel searches. Skips events whose request fails. */
async function fetchUpdates(events: readonly FoundEvent[]): Promise<FoundEvent[]> {
  const found: FoundEvent[] = []
  for (const query of events.flatMap((event) => locationOf(event) ?? [])) {
    const page = await resultOf(api.GET('/api/events', { params: { query } })).catch(() => undefined)
    found.push(...(page?.items ?? []))
  }
  return found
}

export function useUpdated(found: readonly FoundEvent[]): readonly FoundEvent[] {
  const keys = found.filter(isPending).slice(0, MAX_UPDATED).map(eventKey)
  const { data } = useQuery({
    queryKey: [...PENDING_KEY, keys],
    queryFn: () => fetchUpdates(found.filter((event) => keys.includes(eventKey(event)))),
    enabled: keys.length > 0,
    // the search result is still fresh
    gcTime: 0,
    initialData: NONE,
    staleTime: 10_000,
    refetchInterval: ({ state }) => (state.data?.length && !state.data.some(isPending) ? false : 10_000),
  })
  return withUpdates(found, data)
}
