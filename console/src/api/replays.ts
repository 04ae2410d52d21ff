import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, type Shapes } from './client.ts'
import { queries } from './queries.ts'

export type Replay = Shapes['Replay']
export type NewReplay = Shapes['NewReplay']

const changed = () => queries.invalidateQueries({ queryKey: ['replays'] })

/** The newest first; looked at more often while one is running. */
export const useReplays = () =>
  useQuery({
    queryKey: ['replays'],
    queryFn: async () => {
      const { items } = await answered(api.GET('/api/replays', { params: { query: { limit: 1_000 } } }))
      return items.toSorted((one, other) => (one.createdAt < other.createdAt ? 1 : -1))
    },
    refetchInterval: ({ state }) => (state.data?.some(({ state }) => state === 'running') ? 1_000 : 15_000),
  })

export const useCreateReplays = () =>
  useMutation({
    /** One for each destination. */
    mutationFn: (wanted: readonly NewReplay[]) =>
      Promise.all(wanted.map((body) => answered(api.POST('/api/replays', { body })))),
    onSettled: changed,
  })

export const useCancelReplay = () =>
  useMutation({
    mutationFn: (id: string) => answered(api.DELETE('/api/replays/{id}', { params: { path: { id } } })),
    onSettled: changed,
  })
