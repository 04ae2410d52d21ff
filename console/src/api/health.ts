import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, carriedOut, type Shapes } from './client.ts'
import { queries } from './query-client.ts'
import type { paths } from './schema.ts'
import { useBroadcast } from './stream/use-stream.ts'

export type Health = Shapes['Health']
export type Intake = Shapes['Ingest']
export type Overview = paths['/api/health']['get']['responses'][200]['content']['application/json']
export type DestinationNow = Overview['items'][number]

export const useHealth = (id: string) =>
  useQuery({
    queryKey: ['destinations', id, 'health'],
    queryFn: () => answered(api.GET('/api/destinations/{id}/health', { params: { path: { id } } })),
    refetchInterval: 3_000,
  })

/** All destinations, and what comes in, as it goes on: as the API describes the same at GET /api/health and GET /api/ingest. */
export const useOverview = () => useBroadcast<{ health: Overview; ingest: Intake }>('/api/health/stream')

export type Warning = Shapes['Warning']
type Kind = NonNullable<Warning['kind']>

/** What needs somebody now. */
export const useWarnings = () =>
  useQuery({
    queryKey: ['warnings'],
    queryFn: () => answered(api.GET('/api/warnings')),
    refetchInterval: 10_000,
  })

const PATHS = {
  source: '/api/sources/{id}',
  destination: '/api/destinations/{id}',
  suppression: '/api/suppressions/{id}',
  audience: '/api/audiences/{id}',
  trait: '/api/traits/{id}',
} as const

/** A setting whose record cannot be read: nobody knows its version. */
export const useRemoveUnreadable = (kind: Kind, id: string) =>
  useMutation({
    mutationFn: () => carriedOut(api.DELETE(PATHS[kind], { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries(),
  })
