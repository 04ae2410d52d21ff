import { useInfiniteQuery } from '@tanstack/react-query'
import { hoursBefore } from '../wording/format.ts'
import { api, resultOf, type Schemas } from './client/client.ts'
import { serverNow } from './client/clock.ts'

export type DeadLetter = Schemas['DeadLetter']
export type DeadCount = { destinationId: string; reason: string; count: number }
export type Reason = 'window_expired' | 'attempts_exhausted' | 'rejected' | 'refused' | 'rules_failed'
export type DeadFilter = {
  destinationId?: string
  reason?: Reason
  /** `since` and `until` take precedence. */
  hours?: number
  /** ISO 8601; `until` is exclusive. */
  since?: string
  until?: string
  messageId?: string
  event?: string
  user?: string
  status?: string
  /** `false`: not replayed yet. */
  replayed?: 'false'
}

const hasOnePage = ({ state }: { state: { data?: { pages: readonly unknown[] } | undefined } }) =>
  (state.data?.pages.length ?? 0) <= 1

/** Newest first. Stops polling once older pages are loaded: a refetch would load them all. */
export const useDeadLetters = (filter: DeadFilter) =>
  useInfiniteQuery({
    queryKey: ['dead', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      resultOf(
        api.GET('/api/dead', {
          params: {
            query: { ...toQuery(filter, serverNow()), limit: 50, ...(cursor !== undefined && { cursor }) },
          },
        }),
      ),
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: (query) => hasOnePage(query) && 10_000,
    refetchOnWindowFocus: hasOnePage,
  })

/** Counts the matches that were not replayed yet, by destination. @throws ApiError */
export async function countToReplay(filter: DeadFilter, now: number) {
  const query = { ...toQuery(filter, now), replayed: 'false', limit: 1 } as const
  const { matching, partial: isPartial } = await resultOf(api.GET('/api/dead', { params: { query } }))
  return { matching, isPartial }
}

/** @param now ms since 1970 */
function toQuery({ hours, ...filter }: DeadFilter, now: number) {
  return { ...(hours !== undefined && { since: hoursBefore(hours, now) }), ...filter }
}
