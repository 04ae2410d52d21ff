import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { allOf, answered, api, carriedOut, type Shapes } from './client.ts'
import { listEvery, queries } from './query-client.ts'

export type Destination = Shapes['Destination']
export type NewDestination = Shapes['NewDestination']
export type TestResult = Shapes['TestResult']
export type EventType = NonNullable<Destination['eventTypes']>[number]

export const EVENT_TYPES: readonly EventType[] = [
  'track',
  'identify',
  'page',
  'screen',
  'group',
  'alias',
  'delete',
]

const changed = () => queries.invalidateQueries({ queryKey: ['destinations'] })

export const allDestinations = queryOptions({
  queryKey: ['destinations'],
  queryFn: (): Promise<Destination[]> =>
    allOf((query) => answered(api.GET('/api/destinations', { params: { query } }))),
  refetchInterval: listEvery,
})

export const useDestinations = () => useQuery(allDestinations)

/** @param id undefined: there is none yet. */
export const useDestination = (id: string | undefined) =>
  useQuery({
    queryKey: ['destinations', id],
    queryFn: () => answered(api.GET('/api/destinations/{id}', { params: { path: { id: id ?? '' } } })),
    enabled: id !== undefined,
    refetchInterval: 10_000,
  })

export const useCreateDestination = () =>
  useMutation({
    mutationFn: (body: NewDestination) => carriedOut(api.POST('/api/destinations', { body })),
    onSuccess: changed,
  })

/** @param asked.version the one that the change was made on: another's change meanwhile is not overwritten. */
export const useReplaceDestination = () =>
  useMutation({
    mutationFn: ({ id, version, ...body }: Destination) =>
      carriedOut(
        api.PUT('/api/destinations/{id}', {
          params: { path: { id }, header: { 'if-match': `"${version}"` } },
          body,
        }),
      ),
    onSuccess: changed,
  })

export const useRemoveDestination = (id: string) =>
  useMutation({
    mutationFn: () => carriedOut(api.DELETE('/api/destinations/{id}', { params: { path: { id } } })),
    // of what is gone nothing is asked any more
    onSuccess: () => queries.invalidateQueries({ queryKey: ['destinations'], exact: true }),
  })

/** Posts a sample to each URL now. */
export const useTestSend = (id: string) =>
  useMutation({
    mutationFn: (type: EventType) =>
      carriedOut(api.POST('/api/destinations/{id}/test', { params: { path: { id } }, body: { type } })),
  })
