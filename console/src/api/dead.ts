import { useInfiniteQuery } from '@tanstack/react-query'
import { answered, api, type Shapes } from './client.ts'

export type DeadLetter = Shapes['DeadLetter']
export type Reason = 'window_expired' | 'attempts_exhausted' | 'refused'
/** Times in ISO 8601. */
export type DeadFilter = { destinationId?: string; reason?: Reason; since?: string; messageId?: string }

export const useDead = (filter: DeadFilter) =>
  useInfiniteQuery({
    queryKey: ['dead', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answered(
        api.GET('/api/dead', {
          params: { query: { ...filter, limit: 50, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: 10_000,
  })
