import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange, type Schemas } from './client/client.ts'
import { queryClient } from './client/query-client.ts'
import { useSeesAll } from './session.ts'

export type SystemProblem = Schemas['SystemProblem']

const REFETCH_MS = 5_000
/** A hanging control process never answers. */
const TIMEOUT_MS = 8_000

/** Fails within 20 s without an answer. Not for customers. */
export const useStatus = () =>
  useQuery({
    queryKey: ['status'],
    enabled: useSeesAll(),
    queryFn: ({ signal }) =>
      resultOf(
        api.GET('/api/status', { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) }),
      ),
    refetchInterval: REFETCH_MS,
    // the next request follows in seconds
    retry: 1,
  })

const PATHS = {
  source: '/api/sources/{id}',
  destination: '/api/destinations/{id}',
  suppression: '/api/suppressions/{id}',
  audience: '/api/audiences/{id}',
  trait: '/api/traits/{id}',
} as const

/** An unreadable record has no version. */
export const useDeleteUnreadableSetting = ({
  kind,
  id,
}: Pick<NonNullable<SystemProblem['setting']>, 'kind' | 'id'>) =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE(PATHS[kind], { params: { path: { id } } })),
    onSuccess: () => queryClient.invalidateQueries(),
  })
