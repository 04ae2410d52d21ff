import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, carriedOut, type Shapes } from './client.ts'
import { Refused } from './errors.ts'
import { queries } from './query-client.ts'

export type Replay = Shapes['Replay']
export type NewReplay = Shapes['NewReplay']
/** With an id of its own a replay can be asked for again when nobody knows whether it was begun. */
export type NamedReplay = NewReplay & { id: string }
/** What became of one: `error` says why it was not begun. */
export type Begun = { wanted: NamedReplay; error?: unknown }

const changed = () => queries.invalidateQueries({ queryKey: ['replays'] })

/** The last five, newest first; looked at more often while one is running. @param destinationId undefined: of all. */
export const useReplays = (destinationId?: string) =>
  useQuery({
    queryKey: ['replays', destinationId],
    queryFn: async () => {
      const query = {
        newest: 'true',
        limit: 5,
        ...(destinationId !== undefined && { destinationId }),
      } as const
      return (await answered(api.GET('/api/replays', { params: { query } }))).items
    },
    refetchInterval: ({ state }) => (state.data?.some(({ state }) => state === 'running') ? 1_000 : 15_000),
  })

/** @throws Refused */
async function begin(body: NamedReplay): Promise<void> {
  try {
    await carriedOut(api.POST('/api/replays', { body }))
  } catch (error) {
    // it was begun before, and the answer was lost
    if (!(error instanceof Refused && error.code === 'id_taken')) throw error
  }
}

/** One for each destination: one that cannot be begun is in no other's way. Does not reject. */
export const useBeginReplays = () =>
  useMutation({
    mutationFn: (all: readonly NamedReplay[]) =>
      Promise.all(
        all.map(
          (wanted): Promise<Begun> =>
            begin(wanted).then(
              () => ({ wanted }),
              (error: unknown) => ({ wanted, error }),
            ),
        ),
      ),
    onSettled: changed,
  })

export const useCancelReplay = () =>
  useMutation({
    mutationFn: (id: string) => carriedOut(api.DELETE('/api/replays/{id}', { params: { path: { id } } })),
    onSettled: changed,
  })
