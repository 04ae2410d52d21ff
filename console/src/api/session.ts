import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, type Shapes } from './client.ts'
import { Refused } from './problem.ts'
import { queries } from './queries.ts'

export type Session = Shapes['Session']

async function readSession(): Promise<Session | null> {
  try {
    return await answered(api.GET('/api/session'))
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return null
    throw error
  }
}

/** `null`: nobody is signed in. */
export const useSession = () =>
  useQuery({ queryKey: ['session'], queryFn: readSession, staleTime: 60_000, refetchInterval: 60_000 })

/** Whether who is signed in may change anything; the server refuses it besides. */
export const useMayWrite = (): boolean => useSession().data?.who === 'admin'

export const useSignIn = () =>
  useMutation({
    mutationFn: (token: string) => answered(api.POST('/api/session', { body: { token } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['session'] }),
  })

export const useSignOut = () =>
  useMutation({
    mutationFn: () => answered(api.DELETE('/api/session')),
    onSuccess() {
      queries.setQueryData(['session'], null)
      // nothing of it is there for whoever signs in next
      queries.removeQueries({ predicate: ({ queryKey: [what] }) => what !== 'session' })
    },
  })
