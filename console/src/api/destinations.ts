import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, type Shapes } from './client.ts'
import { queries } from './queries.ts'

export type Destination = Shapes['Destination']
export type NewDestination = Shapes['NewDestination']
export type TestResult = Shapes['TestResult']
export type EventType = NonNullable<Destination['eventTypes']>[number]

const query = { limit: 1_000 }

const changed = () => queries.invalidateQueries({ queryKey: ['destinations'] })

export const useDestinations = () =>
  useQuery({
    queryKey: ['destinations'],
    queryFn: async () => (await answered(api.GET('/api/destinations', { params: { query } }))).items,
  })

export const useDestination = (id: string) =>
  useQuery({
    queryKey: ['destinations', id],
    queryFn: () => answered(api.GET('/api/destinations/{id}', { params: { path: { id } } })),
  })

export const useCreateDestination = () =>
  useMutation({
    mutationFn: (body: NewDestination) => answered(api.POST('/api/destinations', { body })),
    onSuccess: changed,
  })

/** @param asked.version the one that the change was made on: another's change meanwhile is not overwritten. */
export const useReplaceDestination = () =>
  useMutation({
    mutationFn: ({ id, version, ...body }: Destination) =>
      answered(
        api.PUT('/api/destinations/{id}', {
          params: { path: { id }, header: { 'if-match': `"${version}"` } },
          body,
        }),
      ),
    onSuccess: changed,
  })

export const useRemoveDestination = (id: string) =>
  useMutation({
    mutationFn: () => answered(api.DELETE('/api/destinations/{id}', { params: { path: { id } } })),
    onSuccess: changed,
  })

/** Posts a sample to each URL now. */
export const useTestSend = (id: string) =>
  useMutation({
    mutationFn: (type: EventType) =>
      answered(api.POST('/api/destinations/{id}/test', { params: { path: { id } }, body: { type } })),
  })
