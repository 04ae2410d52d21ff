import { useMutation, useQuery } from '@tanstack/react-query'
import { ASKED_HERE, allOf, answered, api, carriedOut, type Shapes } from './client.ts'
import { refusal, unanswered } from './errors.ts'
import { listEvery, queries } from './query-client.ts'

/** An audience or a computed trait: the API has both in one shape. */
export type Computation = Shapes['Audience']
export type Kind = 'audiences' | 'traits'
export type Sync = Shapes['Sync']

const changed = (kind: Kind) => queries.invalidateQueries({ queryKey: [kind] })

export const useComputations = (kind: Kind) =>
  useQuery({
    queryKey: [kind],
    queryFn: (): Promise<Computation[]> =>
      allOf((query) => answered(api.GET(`/api/${kind}`, { params: { query } }))),
    refetchInterval: listEvery,
  })

export const useCreateComputation = (kind: Kind) =>
  useMutation({
    mutationFn: (body: Shapes['NewAudience']) => carriedOut(api.POST(`/api/${kind}`, { body })),
    onSuccess: () => changed(kind),
  })

export const useRemoveComputation = (kind: Kind, id: string) =>
  useMutation({
    mutationFn: () => carriedOut(api.DELETE(`/api/${kind}/{id}`, { params: { path: { id } } })),
    onSuccess: () => changed(kind),
  })

type Upload = { content: Blob; allowEmpty: boolean; onProgress: (share: number) => void }

/** All members, or values of users, one a line. The answer comes when they have been compared with the last ones. */
export const useUpload = (kind: Kind, id: string) =>
  useMutation({ mutationFn: (wanted: Upload) => upload(kind, id, wanted), onSettled: () => changed(kind) })

/** How far an upload is XMLHttpRequest can tell, and fetch cannot. */
function upload(kind: Kind, id: string, { content, allowEmpty, onProgress }: Upload): Promise<Sync> {
  const what = kind === 'audiences' ? 'members' : 'values'
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    request.open('PUT', `/api/${kind}/${id}/${what}${allowEmpty ? '?allowEmpty=true' : ''}`)
    for (const [name, value] of Object.entries(ASKED_HERE)) request.setRequestHeader(name, value)
    request.setRequestHeader('Content-Type', kind === 'audiences' ? 'text/plain' : 'application/x-ndjson')
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(unanswered())
    request.onload = () => {
      const body: unknown = parsed(request.responseText)
      // a sync, with every success
      if (request.status < 300) resolve(body as Sync)
      else reject(refusal(body, request.status))
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
