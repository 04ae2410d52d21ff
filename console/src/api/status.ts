import { useQuery } from '@tanstack/react-query'
import { api, resultOf, type Schemas } from './client.ts'

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
