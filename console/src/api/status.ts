import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange, type Schemas } from './client.ts'
import { queryClient } from './query-client.ts'

export type SystemProblem = Schemas['SystemProblem']

const REFETCH_MS = 5_000
/** A control process that hangs never answers. */
const TIMEOUT_MS = 8_000

/** The current problems of the system. Fails within 20 s if control does not answer. */
export const useStatus = () =>
  useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) =>
      resultOf(
        api.GET('/api/status', { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) }),
      ),
    refetchInterval: REFETCH_MS,
    // the next request follows in a few seconds anyway
    retry: 1,
  })

const PATHS = {
  source: '/api/sources/{id}',
  destination: '/api/destinations/{id}',
  suppression: '/api/suppressions/{id}',
  audience: '/api/audiences/{id}',
  trait: '/api/traits/{id}',
} as const

/** Deletes a setting whose record cannot be read, without a version: it has none. */
export const useDeleteUnreadableSetting = ({
  kind,
  id,
}: Pick<NonNullable<SystemProblem['setting']>, 'kind' | 'id'>) =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE(PATHS[kind], { params: { path: { id } } })),
    onSuccess: () => queryClient.invalidateQueries(),
  })
