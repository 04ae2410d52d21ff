import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { isConflict, Refused } from './errors.ts'

export const SESSION = ['session'] as const

const isOther = ({ queryKey: [what] }: { queryKey: readonly unknown[] }) => what !== SESSION[0]

/** Whose session has ended sees that at once, wherever it was noticed; what no view shows any more is forgotten. */
export function notice(error: unknown): void {
  if (!(error instanceof Refused) || error.status !== 401) return
  queries.setQueryData<Session | null>(SESSION, ended)
  queries.removeQueries({ type: 'inactive', predicate: isOther })
}

/** Nothing of it is there for whoever signs in next. */
export function forget(): void {
  queries.removeQueries({ predicate: isOther })
  queries.getMutationCache().clear()
}

/** What somebody else has changed is read anew, before that is told: what is then shown, and tried again, is as it is now. */
async function noticeOfChange(error: unknown): Promise<void> {
  notice(error)
  if (isConflict(error)) await queries.invalidateQueries({ predicate: isOther })
}

const isWorthAnother = (error: unknown) =>
  error instanceof Refused && (error.status === 0 || error.status === 503)

/** Whether a browser takes itself for online says nothing of control, which may be on the same machine. */
const networkMode = 'always'

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: notice }),
  mutationCache: new MutationCache({ onError: noticeOfChange }),
  defaultOptions: {
    queries: {
      networkMode,
      staleTime: 2_000,
      retry: (times, error) => times < 3 && isWorthAnother(error),
      refetchOnWindowFocus: true,
    },
    // what was not done when it was asked for is not done later by itself
    mutations: { networkMode, retry: false },
  },
})

/** How often a list is read anew: what others change shows by itself. @returns ms */
export const listEvery = ({ state }: { state: { data?: readonly unknown[] | undefined } }): number =>
  (state.data?.length ?? 0) > 1_000 ? 60_000 : 10_000

/** Who has signed in. `isOver`: the session has ended; what was on the page stays until somebody signs in again. */
export type Session = { who: 'admin' | 'view'; isOver: boolean }

/** What a session is once the server does not know it any more. Null: nobody was signed in. */
export const ended = (before: Session | null | undefined): Session | null =>
  before ? { ...before, isOver: true } : null
