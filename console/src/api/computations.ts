import { useMutation, useQuery } from '@tanstack/react-query'
import { api, CSRF_HEADERS, fetchAll, resultOf, resultOfChange, type Schemas } from './client.ts'
import { toApiError, unanswered } from './errors.ts'
import { listRefetchInterval, queryClient } from './query-client.ts'

export type Computation = Schemas['Audience']
export type Kind = 'audiences' | 'traits'
export type Sync = Schemas['Sync']

const changed = (kind: Kind) => queryClient.invalidateQueries({ queryKey: [kind] })

export const useComputations = (kind: Kind) =>
  useQuery({
    queryKey: [kind],
    queryFn: (): Promise<Computation[]> =>
      fetchAll((query) => resultOf(api.GET(`/api/${kind}`, { params: { query } }))),
    refetchInterval: listRefetchInterval,
  })

export const useCreateComputation = (kind: Kind) =>
  useMutation({
    mutationFn: (body: Schemas['NewAudience']) => resultOfChange(api.POST(`/api/${kind}`, { body })),
    onSuccess: () => changed(kind),
  })

export const useDeleteComputation = (kind: Kind, id: string) =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE(`/api/${kind}/{id}`, { params: { path: { id } } })),
    onSuccess: () => changed(kind),
  })

type Upload = { content: Blob; allowEmpty: boolean; onProgress: (share: number) => void }

/** Uploads all members, or all values, one per line. Resolves once they have been compared with the last upload. */
export const useUpload = (kind: Kind, id: string) =>
  useMutation({ mutationFn: (request: Upload) => upload(kind, id, request), onSettled: () => changed(kind) })

/** Uses XMLHttpRequest because fetch does not report upload progress. */
function upload(kind: Kind, id: string, { content, allowEmpty, onProgress }: Upload): Promise<Sync> {
  const what = kind === 'audiences' ? 'members' : 'values'
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    request.open('PUT', `/api/${kind}/${id}/${what}${allowEmpty ? '?allowEmpty=true' : ''}`)
    for (const [name, value] of Object.entries(CSRF_HEADERS)) request.setRequestHeader(name, value)
    request.setRequestHeader('Content-Type', kind === 'audiences' ? 'text/plain' : 'application/x-ndjson')
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(unanswered())
    request.onload = () => {
      const body: unknown = parsed(request.responseText)
      // every success has a sync as its body
      if (request.status < 300) resolve(body as Sync)
      else reject(toApiError(body, request.status))
    }
    request.send(content)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
