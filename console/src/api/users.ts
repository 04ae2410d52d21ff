import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange, type Schemas } from './client/client.ts'
import { ApiError } from './client/errors.ts'
import { queryClient } from './client/query-client.ts'

export type User = Schemas['User']
export type Deletion = Schemas['Deletion']
export type Suppression = Schemas['Suppression']
/** The id makes it safe to repeat the request after a lost answer. */
export type DeletionRequest = Schemas['NewDeletion'] & { id: string }

const changed = () =>
  Promise.all(['users', 'deletions'].map((name) => queryClient.invalidateQueries({ queryKey: [name] })))

const RUNNING_MS = 1_000
const IDLE_MS = 15_000

export const useUser = (userId: string) =>
  useQuery({
    queryKey: ['users', userId],
    queryFn: () => resultOf(api.GET('/api/users', { params: { query: { userId } } })),
    // each request is audited
    refetchOnWindowFocus: false,
    refetchInterval: ({ state }) => (state.data?.deletions.length ? RUNNING_MS : false),
  })

const SHOWN = 20

/** Newest first. Polls faster while one is running. */
export const useDeletions = () =>
  useQuery({
    queryKey: ['deletions'],
    queryFn: async () => {
      const query = { newest: 'true', limit: SHOWN } as const
      return (await resultOf(api.GET('/api/deletions', { params: { query } }))).items
    },
    refetchInterval: ({ state }) =>
      state.data?.some(({ state }) => state === 'accepted') ? RUNNING_MS : IDLE_MS,
  })

export const useDeleteUsers = () =>
  useMutation({
    async mutationFn(body: DeletionRequest) {
      try {
        await resultOfChange(api.POST('/api/deletions', { body }))
      } catch (error) {
        // an earlier request, whose answer was lost, was accepted
        if (!(error instanceof ApiError && error.code === 'id_taken')) throw error
      }
    },
    onSettled: changed,
  })

export const useSuppress = () =>
  useMutation({
    mutationFn: (body: Schemas['NewSuppression']) => resultOfChange(api.POST('/api/suppressions', { body })),
    onSettled: changed,
  })

export const useEndSuppression = () =>
  useMutation({
    mutationFn: (id: string) =>
      resultOfChange(api.DELETE('/api/suppressions/{id}', { params: { path: { id } } })),
    onSettled: changed,
  })
