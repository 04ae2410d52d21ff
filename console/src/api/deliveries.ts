import { useQuery } from '@tanstack/react-query'
import { hoursBefore } from '../wording/format.ts'
import { api, resultOf, type Schemas } from './client/client.ts'
import { serverNow } from './client/clock.ts'
import { queryClient } from './client/query-client.ts'
import { useSearch } from './client/search.ts'

export type Delivery = Schemas['Delivery']
export type DeliveryDetails = Schemas['DeliveryDetails']
export type DeliveryFilter = {
  state?: Delivery['state']
  status?: string
  event?: string
  user?: string
  messageId?: string
  hours?: number
}
/** `of`: the destination's id. */
export type DeliveryList = { of: string; filter: DeliveryFilter }

const PAGE = 50
const MAX_PAGE = 100

function toQuery({ of, filter: { hours, ...filter } }: DeliveryList, now: number) {
  return { destinationId: of, ...filter, ...(hours !== undefined && { since: hoursBefore(hours, now) }) }
}

const fetchPage = (
  query: ReturnType<typeof toQuery> & { limit: number; cursor?: string },
  signal?: AbortSignal,
) => resultOf(api.GET('/api/deliveries', { params: { query }, ...(signal && { signal }) }))

const keyOf = (list: DeliveryList) => ['deliveries', list.of, list.filter]

export const useDeliveries = (list: DeliveryList) =>
  useSearch(keyOf(list), async (from, signal) => {
    const askedAt = serverNow()
    return { ...(await fetchPage({ ...toQuery(list, askedAt), limit: PAGE, ...from }, signal)), askedAt }
  })

export const stopDeliveries = (list: DeliveryList) =>
  void queryClient.cancelQueries({ queryKey: keyOf(list), exact: true })

export const refreshDeliveries = (of: string) =>
  queryClient.resetQueries({ queryKey: ['deliveries', of], exact: false })

/** `isGap`: more were made between two requests than a request returns. `askedAt`: of the last one, in ms since 1970. */
export type Latest = { items: readonly Delivery[]; isGap: boolean; askedAt: number }

const LIVE_MS = 3_000
/** Younger deliveries get their states refreshed. */
const RECENT_MS = 60_000
const NONE = { items: [], isGap: false }

/** Asks for the last minute every three seconds, or for more after a pause, and keeps what earlier requests found. */
export function useLatestDeliveries(list: DeliveryList, isOn: boolean): Pick<Latest, 'items' | 'isGap'> {
  const queryKey = [...keyOf(list), 'latest']
  const { data = NONE } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const now = serverNow()
      const before = queryClient.getQueryData<Latest>(queryKey) ?? newestPage(list)
      const query = { ...toQuery(list, now), limit: MAX_PAGE, since: latestSince(list, before, now) }
      return withLatest(before, await fetchPage(query, signal), now)
    },
    enabled: isOn,
    refetchInterval: LIVE_MS,
    refetchOnWindowFocus: isOn,
    staleTime: 0,
    gcTime: 0,
  })
  return data
}

/** The newest page of `useDeliveries`, from which a list that was paused goes on; undefined after a reset. */
function newestPage(list: DeliveryList): Latest | undefined {
  const found = queryClient.getQueryData<{ pages: readonly Omit<Latest, 'isGap'>[] }>(keyOf(list))
  return found?.pages[0] && { ...found.pages[0], isGap: false }
}

/** The list may have been paused, or its tab hidden. @param now ms since 1970. @returns ISO 8601 */
export function latestSince(
  list: DeliveryList,
  before: Pick<Latest, 'askedAt'> | undefined,
  now: number,
): string {
  const { since = '' } = toQuery(list, now)
  const missed = new Date(Math.min(before?.askedAt ?? now, now) - RECENT_MS).toISOString()
  return since > missed ? since : missed
}

/** @param askedAt ms since 1970 */
export function withLatest(
  before: Latest | undefined,
  page: { items: readonly Delivery[]; next: string | null },
  askedAt: number,
): Latest {
  const known = new Set(before?.items.map(({ id }) => id))
  const isFull = page.items.length >= MAX_PAGE && page.next !== null
  const isGap = isFull && before !== undefined && !page.items.some(({ id }) => known.has(id))
  return {
    items: mergeDeliveries(before?.items ?? [], page.items),
    isGap: before?.isGap || isGap,
    askedAt,
  }
}

export const MAX_ROWS = 1_000

/** Newest first, each with its latest state. Keeps a thousand. */
export function mergeDeliveries(before: readonly Delivery[], latest: readonly Delivery[]): Delivery[] {
  const byId = new Map([...before, ...latest].map((each) => [each.id, each]))
  const newestFirst = (a: Delivery, b: Delivery) =>
    Date.parse(b.routedAt ?? '') - Date.parse(a.routedAt ?? '')
  return [...byId.values()].sort(newestFirst).slice(0, MAX_ROWS)
}

/** Sluice still sends these without a replay. */
const IN_PROGRESS: ReadonlySet<unknown> = new Set<Delivery['state']>([
  'waiting',
  'retrying',
  'deferred',
  'held',
])
export const isInProgress = (state: Delivery['state'] | null | undefined): boolean => IN_PROGRESS.has(state)

export const useDelivery = (id: string) =>
  useQuery({
    queryKey: ['delivery', id],
    queryFn: () => resultOf(api.GET('/api/deliveries/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state: { data } }) => (isInProgress(data?.state) ? LIVE_MS : false),
  })

/** The API's limit for one replay. */
const MAX_COLLECTED = 1_000
/** A request takes up to three seconds. */
const MAX_REQUESTS = 20

/** `searchedSince`: how far back the search went, if there may be older ones. @throws ApiError */
export async function collectDeliveries(
  list: DeliveryList,
): Promise<{ entries: Delivery[]; isComplete: boolean; searchedSince: string | null }> {
  const query = toQuery(list, serverNow())
  const entries: Delivery[] = []
  let cursor: string | undefined
  for (let requests = 1; ; requests++) {
    const page = await fetchPage({ ...query, limit: MAX_PAGE, ...(cursor !== undefined && { cursor }) })
    entries.push(...page.items)
    const isComplete = page.next === null
    if (page.next === null || requests >= MAX_REQUESTS || entries.length >= MAX_COLLECTED)
      return { entries: entries.slice(0, MAX_COLLECTED), isComplete, searchedSince: page.searchedSince }
    cursor = page.next
  }
}
