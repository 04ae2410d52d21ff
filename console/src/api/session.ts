import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange } from './client/client.ts'
import { ApiError } from './client/errors.ts'
import { clearCache, endedSession, queryClient, SESSION_KEY, type Session } from './client/query-client.ts'

const cached = () => queryClient.getQueryData<Session | null>(SESSION_KEY)

async function readSession(): Promise<Session | null> {
  try {
    const { who } = await resultOf(api.GET('/api/session'))
    return { who, isOver: false }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return endedSession(cached())
    throw error
  }
}

/** Null without a session. */
export const useSession = () =>
  useQuery({ queryKey: SESSION_KEY, queryFn: readSession, staleTime: 60_000, refetchInterval: 60_000 })

/** The server checks it too. */
export const useMayWrite = (): boolean => useSession().data?.who === 'admin'

export const useSignIn = () =>
  useMutation({
    mutationFn: (token: string) => resultOf(api.POST('/api/session', { body: { token } })),
    async onSuccess() {
      const before = cached()?.who
      await queryClient.invalidateQueries({ queryKey: SESSION_KEY })
      if (cached()?.who !== before) clearCache()
      else void queryClient.invalidateQueries()
    },
  })

export const useSignOut = () =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE('/api/session')),
    onSuccess() {
      queryClient.setQueryData(SESSION_KEY, null)
      clearCache()
    },
  })
