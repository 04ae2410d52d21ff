import { useInfiniteQuery } from '@tanstack/react-query'
import { api, resultOf, type Schemas } from './client.ts'

export type AuditEntry = Schemas['AuditEntry']
export type AuditFilter = { what?: string; id?: string }

/** Newest first. Each request reads the topic for a few seconds at most; `fetchNextPage` reads further back. */
export const useAudit = (filter: AuditFilter) =>
  useInfiniteQuery({
    queryKey: ['audit', filter],
    initialPageParam: undefined as string | undefined,
    queryFn({ pageParam: cursor, signal }) {
      const query = { ...filter, ...(cursor !== undefined && { cursor }) }
      return resultOf(api.GET('/api/audit', { params: { query }, signal }))
    },
    getNextPageParam: ({ next }) => next ?? undefined,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
