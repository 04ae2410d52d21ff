import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { allOf, answered, api, carriedOut, type Shapes } from './client.ts'
import { Refused } from './errors.ts'
import { listEvery, queries } from './query-client.ts'

export type Source = Shapes['Source']
export type NewSource = Shapes['NewSource']

const changed = () => queries.invalidateQueries({ queryKey: ['sources'] })

export const allSources = queryOptions({
  queryKey: ['sources'],
  queryFn: (): Promise<Source[]> =>
    allOf((query) => answered(api.GET('/api/sources', { params: { query } }))),
  refetchInterval: listEvery,
})

export const useSources = () => useQuery(allSources)

export const useSource = (id: string) =>
  useQuery({
    queryKey: ['sources', id],
    queryFn: () => answered(api.GET('/api/sources/{id}', { params: { path: { id } } })),
    refetchInterval: 10_000,
  })

export const useCreateSource = () =>
  useMutation({
    mutationFn: (body: NewSource) => carriedOut(api.POST('/api/sources', { body })),
    onSuccess: changed,
  })

export const useReplaceSource = ({ id, version }: Pick<Source, 'id' | 'version'>) =>
  useMutation({
    mutationFn: (body: Shapes['SourceReplacement']) =>
      carriedOut(
        api.PUT('/api/sources/{id}', {
          params: { path: { id }, header: { 'if-match': `"${version}"` } },
          body,
        }),
      ),
    onSuccess: changed,
  })

export const useRemoveSource = (id: string) =>
  useMutation({
    mutationFn: () => carriedOut(api.DELETE('/api/sources/{id}', { params: { path: { id } } })),
    // of what is gone nothing is asked any more
    onSuccess: () => queries.invalidateQueries({ queryKey: ['sources'], exact: true }),
  })

/**
 * Sends a call to ingest from this page, as a website would.
 * @throws Refused with what ingest says, or when it cannot be reached from here.
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
    const message = `This browser cannot reach ingest at ${ingestAddress}: send the call from a terminal with a command of those here.`
    throw new Refused({ code: 'unreachable', message, errors: [] }, 0)
  })
  if (response.ok) return
  const said: { code?: string; message?: string } = await response.json().catch(() => ({}))
  const message = `Ingest answered ${response.status}${said.message ? `: ${said.message}` : ''}`
  throw new Refused({ code: said.code ?? 'unknown', message, errors: [] }, response.status)
}

/** Where clients send their calls, as control wrote it into the page. */
export const ingestAddress: string =
  document.querySelector<HTMLMetaElement>('meta[name="sluice-ingest"]')?.content || 'http://localhost:8080'
