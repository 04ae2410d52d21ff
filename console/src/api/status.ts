import { useQuery } from '@tanstack/react-query'
import { api, resultOf, type Schemas } from './client.ts'

export type SystemProblem = Schemas['SystemProblem']

const REFETCH_MS = 5_000
/** A control process that hangs gives no answer at all. */
const TIMEOUT_MS = 8_000

/** What is wrong with the system right now. Fails soon if control does not answer. */
export const useStatus = () =>
  useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) =>
      resultOf(
        api.GET('/api/status', { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) }),
      ),
    refetchInterval: REFETCH_MS,
    // the next request is soon anyway
    retry: 1,
  })
