import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange, type Schemas } from './client/client.ts'
import { ApiError } from './client/errors.ts'
import { queryClient } from './client/query-client.ts'

export type Replay = Schemas['Replay']
export type NewReplay = Schemas['NewReplay']
/** The id makes it safe to repeat the request after a lost answer. */
export type ReplayRequest = NewReplay & { id: string }
export type ReplayResult = { request: ReplayRequest; error?: unknown }

const changed = () => queryClient.invalidateQueries({ queryKey: ['replays'] })

/**
 * The newest five. Polls faster while one is running.
 * @param destinationId undefined for all destinations.
 */
export const useReplays = (destinationId?: string) =>
  useQuery({
    queryKey: ['replays', destinationId],
    queryFn: async () => {
      const query = {
        newest: 'true',
        limit: 5,
        ...(destinationId !== undefined && { destinationId }),
      } as const
      return (await resultOf(api.GET('/api/replays', { params: { query } }))).items
    },
    refetchInterval: ({ state }) => (state.data?.some(({ state }) => state === 'running') ? 1_000 : 15_000),
  })

/** @throws ApiError */
async function start(body: ReplayRequest): Promise<void> {
  try {
    await resultOfChange(api.POST('/api/replays', { body }))
  } catch (error) {
    // an earlier request, whose answer was lost, started it
    if (!(error instanceof ApiError && error.code === 'id_taken')) throw error
  }
}

/** One replay per destination. Does not reject. */
export const useStartReplays = () =>
  useMutation({
    mutationFn: (requests: readonly ReplayRequest[]) =>
      Promise.all(
        requests.map(
          (request): Promise<ReplayResult> =>
            start(request).then(
              () => ({ request }),
              (error: unknown) => ({ request, error }),
            ),
        ),
      ),
    onSettled: changed,
  })

export const useCancelReplay = () =>
  useMutation({
    mutationFn: (id: string) => resultOfChange(api.DELETE('/api/replays/{id}', { params: { path: { id } } })),
    onSettled: changed,
  })
