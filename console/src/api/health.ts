import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange, type Schemas } from './client.ts'
import { queryClient } from './query-client.ts'
import type { paths } from './schema.ts'
import { useLatest } from './stream/use-stream.ts'

export type Health = Schemas['Health']
export type Intake = Schemas['Ingest']
export type Overview = paths['/api/health']['get']['responses'][200]['content']['application/json']
export type DestinationNow = Overview['items'][number]

export const useHealth = (id: string) =>
  useQuery({
    queryKey: ['destinations', id, 'health'],
    queryFn: () => resultOf(api.GET('/api/destinations/{id}/health', { params: { path: { id } } })),
    refetchInterval: 3_000,
  })

/** Live figures of all destinations and of ingest, in the shapes of GET /api/health and GET /api/ingest. */
export const useOverview = () => useLatest<{ health: Overview; ingest: Intake }>('/api/health/stream')

export type Warning = Schemas['Warning']
type Kind = NonNullable<Warning['kind']>

export const useWarnings = () =>
  useQuery({
    queryKey: ['warnings'],
    queryFn: () => resultOf(api.GET('/api/warnings')),
    refetchInterval: 10_000,
  })

const PATHS = {
  source: '/api/sources/{id}',
  destination: '/api/destinations/{id}',
  suppression: '/api/suppressions/{id}',
  audience: '/api/audiences/{id}',
  trait: '/api/traits/{id}',
} as const

/** Deletes a setting whose record cannot be read, without a version: it has none. */
export const useDeleteUnreadableSetting = (kind: Kind, id: string) =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE(PATHS[kind], { params: { path: { id } } })),
    onSuccess: () => queryClient.invalidateQueries(),
  })
