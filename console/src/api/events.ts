import { useInfiniteQuery } from '@tanstack/react-query'
import { answered, api, type Shapes } from './client.ts'

export type FoundEvent = Shapes['Event']
export type Fate = FoundEvent['destinations'][number]

export const BY = ['messageId', 'userId', 'anonymousId', 'deliveryId'] as const
export type By = (typeof BY)[number]
export type Search = { by: By; value: string }

/** Where calls are. Topics are read for some seconds at a time: `fetchNextPage` searches further back. */
export const useEvents = (search: Search | undefined) =>
  useInfiniteQuery({
    queryKey: ['events', search],
    enabled: search !== undefined,
    initialPageParam: undefined as string | undefined,
    queryFn({ pageParam: cursor }) {
      const { by, value } = search ?? { by: 'messageId', value: '' }
      const query = { [by]: value, ...(cursor !== undefined && { cursor }) }
      return answered(api.GET('/api/events', { params: { query } }))
    },
    getNextPageParam: ({ next }) => next ?? undefined,
    // an attempt may be under way
    refetchInterval: ({ state }) => (isOpen(state.data?.pages[0]?.items) ? 3_000 : false),
  })

const isOpen = (items: readonly FoundEvent[] = []) =>
  items.some(({ destinations }) =>
    destinations.some(({ state }) => state === 'waiting' || state === 'retrying'),
  )
