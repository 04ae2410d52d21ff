import { useQuery } from '@tanstack/react-query'
import { useBroadcast } from './broadcast.ts'
import { answered, api, type Shapes } from './client.ts'
import type { paths } from './schema.ts'

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
