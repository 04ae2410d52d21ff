import { useInfiniteQuery } from '@tanstack/react-query'

type Page = { next: string | null }
type FetchPage<T> = (from: { cursor?: string }, signal: AbortSignal) => Promise<T>

/** Newest first. Each request reads topics for a few seconds; `fetchNextPage` reads further back. */
export const useSearch = <T extends Page>(queryKey: readonly unknown[], fetchPage: FetchPage<T>) =>
  useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor, signal }) => fetchPage(cursor === undefined ? {} : { cursor }, signal),
    getNextPageParam: ({ next }) => next ?? undefined,
    // expensive: runs once per visit
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
