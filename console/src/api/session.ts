import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, carriedOut } from './client.ts'
import { Refused } from './errors.ts'
import { ended, forget, queries, SESSION, type Session } from './query-client.ts'

const known = () => queries.getQueryData<Session | null>(SESSION)

async function readSession(): Promise<Session | null> {
  try {
    const { who } = await answered(api.GET('/api/session'))
    return { who, isOver: false }
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return ended(known())
    throw error
  }
}

/** `null`: nobody is signed in. */
export const useSession = () =>
  useQuery({ queryKey: SESSION, queryFn: readSession, staleTime: 60_000, refetchInterval: 60_000 })

/** Whether who is signed in may change anything; the server refuses it besides. */
export const useMayWrite = (): boolean => useSession().data?.who === 'admin'

export const useSignIn = () =>
  useMutation({
    mutationFn: (token: string) => answered(api.POST('/api/session', { body: { token } })),
    async onSuccess() {
      const before = known()?.who
      await queries.invalidateQueries({ queryKey: SESSION })
      if (known()?.who !== before) forget()
      else void queries.invalidateQueries()
    },
  })

export const useSignOut = () =>
  useMutation({
    mutationFn: () => carriedOut(api.DELETE('/api/session')),
    onSuccess() {
      queries.setQueryData(SESSION, null)
      forget()
    },
  })
