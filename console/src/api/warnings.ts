import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, carriedOut, type Shapes } from './client.ts'
import { queries } from './queries.ts'

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
