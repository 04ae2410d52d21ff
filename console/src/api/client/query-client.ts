import { MutationCache, notifyManager, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError, isConflict } from './errors.ts'

/** `isOver`: the session has ended, and the page keeps its contents until the next sign-in. */
export type Session = {
  who: 'admin' | 'view' | 'workspace'
  /** Null unless `who` is `workspace`. */
  workspaceId: string | null
  /** The person who signed in with single sign-on. */
  person: string | null
  isOver: boolean
}

export const SESSION_KEY = ['session'] as const

export const endedSession = (before: Session | null | undefined): Session | null =>
  before ? { ...before, isOver: true } : null

export const isNotSession = ({ queryKey: [first] }: { queryKey: readonly unknown[] }) =>
  first !== SESSION_KEY[0]

/** On any 401, marks the session as ended and drops cached data that no view shows. */
export function handleSessionEnd(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 401) return
  queryClient.setQueryData<Session | null>(SESSION_KEY, endedSession)
  queryClient.removeQueries({ type: 'inactive', predicate: isNotSession })
}

/** The next user must see none of it. */
export function clearCache(): void {
  queryClient.removeQueries({ predicate: isNotSession })
  queryClient.getMutationCache().clear()
}

/** Refetches before a version conflict is shown: the form then offers the current record. */
async function handleMutationError(error: unknown): Promise<void> {
  handleSessionEnd(error)
  if (isConflict(error)) await queryClient.invalidateQueries({ predicate: isNotSession })
}

const isRetryable = (error: unknown) =>
  error instanceof ApiError && (error.status === 0 || error.status === 503)

/** Control may run on this machine, so the browser's online status does not matter. */
const networkMode = 'always'

// renders before the next event: otherwise a double click could make a change twice
notifyManager.setScheduler(queueMicrotask)

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: handleSessionEnd }),
  mutationCache: new MutationCache({ onError: handleMutationError }),
  defaultOptions: {
    queries: {
      networkMode,
      staleTime: 2_000,
      retry: (times, error) => times < 3 && isRetryable(error),
      refetchOnWindowFocus: true,
    },
    // a failed change must not happen later without the user
    mutations: { networkMode, retry: false },
  },
})

/** In ms. Shows changes by others. */
export const listRefetchInterval = ({
  state,
}: {
  state: { data?: readonly unknown[] | undefined }
}): number => ((state.data?.length ?? 0) > 1_000 ? 60_000 : 10_000)
