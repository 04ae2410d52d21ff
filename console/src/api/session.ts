import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange } from './client/client.ts'
import { ApiError } from './client/errors.ts'
import {
  clearCache,
  endedSession,
  isNotSession,
  queryClient,
  SESSION_KEY,
  type Session,
} from './client/query-client.ts'

const cached = () => queryClient.getQueryData<Session | null>(SESSION_KEY)

async function readSession(): Promise<Session | null> {
  try {
    const { who, workspaceId, person } = await resultOf(api.GET('/api/session'))
    const [session, before] = [{ who, workspaceId, person, isOver: false }, cached()]
    if (before && !isSameUser(before, session)) clearCache()
    return session
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return endedSession(cached())
    throw error
  }
}

type User = Pick<Session, 'who' | 'workspaceId'>

export const isSameUser = (one: User, other: User): boolean =>
  one.who === other.who && one.workspaceId === other.workspaceId

/** Null without a session. */
export const useSession = () =>
  useQuery({
    queryKey: SESSION_KEY,
    queryFn: readSession,
    staleTime: 60_000,
    refetchInterval: 60_000,
    // another tab may have signed in
    refetchOnWindowFocus: 'always',
  })

/** `destinations` includes their tests and replays. The server checks this too. */
export type Managed = 'destinations' | 'all'

export const mayManage = (what: Managed, who: Session['who'] | undefined): boolean =>
  who === 'admin' || (who === 'workspace' && what === 'destinations')

export const useMayManage = (what: Managed): boolean => mayManage(what, useSession().data?.who)

/** False for customers: they have no live calls, event search or status of Sluice. */
export const useSeesAll = (): boolean => useSession().data?.who !== 'workspace'

export const useSignIn = () =>
  useMutation({
    mutationFn: (token: string) => resultOf(api.POST('/api/session', { body: { token } })),
    async onSuccess() {
      await queryClient.invalidateQueries({ queryKey: SESSION_KEY })
      void queryClient.invalidateQueries({ predicate: isNotSession })
    },
  })

export const useMakeWorkspaceToken = (id: string) =>
  useMutation({
    mutationFn: (hours: number) =>
      resultOfChange(
        api.POST('/api/workspaces/{id}/tokens', {
          params: { path: { id } },
          body: { expiresIn: hours * 3_600 },
        }),
      ),
  })

export const useSignOut = () =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE('/api/session')),
    onSuccess() {
      queryClient.setQueryData(SESSION_KEY, null)
      clearCache()
    },
  })
