import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api, type Shapes } from './client.ts'
import type { paths } from './schema.ts'
import { type StreamState, useStream } from './stream.ts'

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

/** All destinations, and what comes in, as it goes on. */
export function useOverview(): { health?: Overview; ingest?: Intake; state: StreamState } {
  const [told, setTold] = useState<{ health?: Overview; ingest?: Intake }>({})
  // as the API describes the same at GET /api/health and GET /api/ingest
  const state = useStream('/api/health/stream', ['health', 'ingest'], (name, data) =>
    setTold((before) => ({ ...before, [name]: data })),
  )
  return { ...told, state }
}
