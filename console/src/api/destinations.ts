import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { api, fetchAll, resultOf, resultOfChange, type Schemas } from './client/client.ts'
import { listRefetchInterval, queryClient } from './client/query-client.ts'
import { unlessSaved } from './client/repeated-change.ts'

export type Destination = Schemas['Destination']
export type NewDestination = Schemas['NewDestination']
export type TestedRules = Schemas['TestedRules']
export type TestResult = Schemas['TestResult']
export type TestSend = Schemas['TestSend']
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

const changed = () => queryClient.invalidateQueries({ queryKey: ['destinations'] })

export const allDestinations = queryOptions({
  queryKey: ['destinations'],
  queryFn: (): Promise<Destination[]> =>
    fetchAll((query) => resultOf(api.GET('/api/destinations', { params: { query } }))),
  refetchInterval: listRefetchInterval,
})

const readDestination = (id: string) =>
  resultOf(api.GET('/api/destinations/{id}', { params: { path: { id } } }))

export const useDestinations = () => useQuery(allDestinations)

/** @param id undefined before the destination exists. */
export const useDestination = (id: string | undefined) =>
  useQuery({
    queryKey: ['destinations', id],
    queryFn: () => readDestination(id ?? ''),
    enabled: id !== undefined,
    refetchInterval: 10_000,
  })

export const useCreateDestination = () =>
  useMutation({
    mutationFn: (body: NewDestination) => resultOfChange(api.POST('/api/destinations', { body })),
    onSuccess: changed,
  })

/** Fails with a conflict if the destination has another version. */
export const useReplaceDestination = () =>
  useMutation({
    mutationFn({ id, version, ...body }: Destination) {
      const params = { path: { id }, header: { 'if-match': `"${version}"` } }
      return unlessSaved(resultOfChange(api.PUT('/api/destinations/{id}', { params, body })), {
        sent: { id, ...body },
        read: () => readDestination(id),
      })
    },
    onSuccess: changed,
  })

export const useDeleteDestination = (id: string) =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE('/api/destinations/{id}', { params: { path: { id } } })),
    // exact: the deleted destination's own query would fail
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['destinations'], exact: true }),
  })

export const useTestSend = (id: string) =>
  useMutation({
    mutationFn: (body: TestSend) =>
      resultOfChange(api.POST('/api/destinations/{id}/test', { params: { path: { id } }, body })),
  })
