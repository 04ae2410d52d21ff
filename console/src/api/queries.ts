import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { Refused } from './problem.ts'

const SESSION = ['session'] as const

/** Who is not signed in any more sees that at once, wherever it was noticed. */
function onError(error: unknown): void {
  if (error instanceof Refused && error.status === 401) queries.setQueryData(SESSION, null)
}

const isWorthAnother = (error: unknown) =>
  error instanceof Refused && (error.status === 0 || error.status === 503)

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      retry: (times, error) => times < 3 && isWorthAnother(error),
      refetchOnWindowFocus: true,
    },
  },
})
