import { useQuery } from '@tanstack/react-query'
import { api, resultOf, type Schemas } from './client/client.ts'
import type { paths } from './client/schema.ts'
import { useSeesAll } from './session.ts'
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

/** For customers, who have no live figures. */
export const useWorkspaceHealth = () =>
  useQuery({
    queryKey: ['health'],
    queryFn: () => resultOf(api.GET('/api/health')),
    enabled: !useSeesAll(),
    refetchInterval: 5_000,
  })

/** Live figures, in the shapes of GET /api/health and GET /api/ingest. */
export const useOverview = () => useLatest<{ health: Overview; ingest: Intake }>('/api/health/stream')
