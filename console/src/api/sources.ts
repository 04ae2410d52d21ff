import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { api, fetchAll, resultOf, resultOfChange, type Schemas } from './client/client.ts'
import { ApiError } from './client/errors.ts'
import { listRefetchInterval, queryClient } from './client/query-client.ts'
import { unlessSaved } from './client/repeated-change.ts'

export type Source = Schemas['Source']
export type NewSource = Schemas['NewSource']

const changed = () => queryClient.invalidateQueries({ queryKey: ['sources'] })

export const allSources = queryOptions({
  queryKey: ['sources'],
  queryFn: (): Promise<Source[]> =>
    fetchAll((query) => resultOf(api.GET('/api/sources', { params: { query } }))),
  refetchInterval: listRefetchInterval,
})

const readSource = (id: string) => resultOf(api.GET('/api/sources/{id}', { params: { path: { id } } }))

export const useSources = () => useQuery(allSources)

export const useSource = (id: string) =>
  useQuery({
    queryKey: ['sources', id],
    queryFn: () => readSource(id),
    refetchInterval: 10_000,
  })

export const useCreateSource = () =>
  useMutation({
    mutationFn: (body: NewSource) => resultOfChange(api.POST('/api/sources', { body })),
    onSuccess: changed,
  })

export const useReplaceSource = ({ id, version }: Pick<Source, 'id' | 'version'>) =>
  useMutation({
    mutationFn(body: Schemas['SourceReplacement']) {
      const params = { path: { id }, header: { 'if-match': `"${version}"` } }
      return unlessSaved(resultOfChange(api.PUT('/api/sources/{id}', { params, body })), {
        sent: { id, ...body },
        read: () => readSource(id),
      })
    },
    onSuccess: changed,
  })

export const useDeleteSource = (id: string) =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE('/api/sources/{id}', { params: { path: { id } } })),
    // exact: the deleted source's own query would fail
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['sources'], exact: true }),
  })

/**
 * Sends a call to ingest from this page, as a website would.
 * @throws ApiError if ingest rejects it or cannot be reached.
 */
export async function sendSampleCall(writeKey: string): Promise<void> {
  const messageId = `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`
  const call = {
    writeKey,
    messageId,
    userId: 'test-user',
    event: 'Test Event',
    properties: { from: 'console' },
  }
  const response = await fetch(`${ingestAddress}/v1/track`, {
    method: 'POST',
    body: JSON.stringify(call),
  }).catch(() => {
    const message = `Your browser cannot reach ingest at ${ingestAddress}. Send a call from a terminal instead, with one of the snippets.`
    throw new ApiError({ code: 'unreachable', message, errors: [] }, 0)
  })
  if (response.ok) return
  const body: { code?: string; message?: string } = await response.json().catch(() => ({}))
  const message = `Ingest answered ${response.status}${body.message ? `: ${body.message}` : ''}`
  throw new ApiError({ code: body.code ?? 'unknown', message, errors: [] }, response.status)
}

/** Control writes it into the page. */
export const ingestAddress: string =
  document.querySelector<HTMLMetaElement>('meta[name="sluice-ingest"]')?.content || 'http://localhost:8080'
