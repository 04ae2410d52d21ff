import { useQuery } from '@tanstack/react-query'
import { api, resultOf, type Schemas } from './client/client.ts'

export type Activity = Schemas['Activity']
export type DestinationActivity = Schemas['DestinationActivity']
export type Figures = Schemas['Figures']
export type Window = Activity['window']

/** The buckets of a day are half hours, so the figures change slowly. */
const REFETCH_MS: Record<Window, number> = { '1h': 5_000, '24h': 30_000 }

export const useActivity = (window: Window) =>
  useQuery({
    queryKey: ['activity', window],
    queryFn: () => resultOf(api.GET('/api/activity', { params: { query: { window } } })),
    refetchInterval: REFETCH_MS[window],
  })

export const useDestinationActivity = (id: string, window: Window) =>
  useQuery({
    queryKey: ['destinations', id, 'activity', window],
    queryFn: () =>
      resultOf(api.GET('/api/destinations/{id}/activity', { params: { path: { id }, query: { window } } })),
    refetchInterval: REFETCH_MS[window],
  })
