import { useInfiniteQuery } from '@tanstack/react-query'
import { hoursBefore } from '../wording/format.ts'
import { answered, api, type Shapes } from './client.ts'

export type DeadLetter = Shapes['DeadLetter']
export type DeadCount = { destinationId: string; reason: string; count: number }
export type Reason = 'window_expired' | 'attempts_exhausted' | 'rejected' | 'refused'
/** `hours`: given up in the last ones. */
export type DeadFilter = { destinationId?: string; reason?: Reason; hours?: number; messageId?: string }

const isAtItsBeginning = ({ state }: { state: { data?: { pages: readonly unknown[] } | undefined } }) =>
  (state.data?.pages.length ?? 0) <= 1

/** Newest first. Nothing moves while older pages are read: each of them would have to be asked for again. */
export const useDead = (filter: DeadFilter) =>
  useInfiniteQuery({
    queryKey: ['dead', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answered(
        api.GET('/api/dead', {
          params: {
            query: { ...queryOf(filter, Date.now()), limit: 50, ...(cursor !== undefined && { cursor }) },
          },
        }),
      ),
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: (query) => isAtItsBeginning(query) && 10_000,
    refetchOnWindowFocus: isAtItsBeginning,
  })

/** As the API is asked for it. @param now ms since 1970. */
function queryOf({ hours, ...filter }: DeadFilter, now: number) {
  return { ...filter, ...(hours !== undefined && { since: hoursBefore(hours, now) }) }
}
