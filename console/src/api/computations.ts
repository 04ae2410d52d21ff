import { useMutation, useMutationState, useQuery } from '@tanstack/react-query'
import { api, CSRF_HEADERS, fetchAll, resultOf, resultOfChange, type Schemas } from './client/client.ts'
import { toChangeError, unanswered } from './client/errors.ts'
import { listRefetchInterval, queryClient } from './client/query-client.ts'

export type Computation = Schemas['Audience']
export type Kind = 'audiences' | 'traits'
export type Sync = Schemas['Sync']

const changed = (kind: Kind) =>
  Promise.all([kind, 'syncs'].map((name) => queryClient.invalidateQueries({ queryKey: [name] })))

export const useComputations = (kind: Kind) =>
  useQuery({
    queryKey: [kind],
    queryFn: (): Promise<Computation[]> =>
      fetchAll((query) => resultOf(api.GET(`/api/${kind}`, { params: { query } }))),
    refetchInterval: listRefetchInterval,
  })

const RUNNING_MS = 1_000
const IDLE_MS = 10_000
/** For all audiences and traits at once, to avoid a request per row. */
const LATEST_SYNCS = 200

/** The latest of all users, newest first. Polls faster while one is running. */
export const useSyncs = () =>
  useQuery({
    queryKey: ['syncs'],
    queryFn: async () =>
      (await resultOf(api.GET('/api/syncs', { params: { query: { limit: LATEST_SYNCS } } }))).items,
    refetchInterval: ({ state }) =>
      state.data?.some(({ state }) => state === 'accepted') ? RUNNING_MS : IDLE_MS,
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

export type Preview = Schemas['UploadPreview']

type Upload = {
  content: Blob
  /** MIME type. */
  type: string
  /** Query parameters to set to `true`. */
  allowances: readonly string[]
  onProgress: (share: number) => void
}

const uploadKey = (kind: Kind, id: string) => [kind, id, 'upload']

/** Resolves once Sluice has compared the upload with the last one. */
export const useUpload = (kind: Kind, id: string) =>
  useMutation({
    mutationKey: uploadKey(kind, id),
    // every success has this body
    mutationFn: (request: Upload) => upload(kind, id, request) as Promise<Sync>,
    onSettled: () => changed(kind),
  })

type UploadState = { isPending: boolean; data: Sync | undefined; error: unknown }

/** This tab's latest upload, which continues when its dialog is closed. */
export const useLatestUpload = (kind: Kind, id: string): UploadState | undefined =>
  useMutationState({
    filters: { mutationKey: uploadKey(kind, id), exact: true },
    select: ({ state: { status, data, error } }) => ({
      isPending: status === 'pending',
      data: data as Sync | undefined, // only `useUpload` has this key
      error,
    }),
  }).at(-1)

export function forgetUpload(kind: Kind, id: string): void {
  const mutations = queryClient.getMutationCache()
  for (const upload of mutations.findAll({ mutationKey: uploadKey(kind, id), exact: true }))
    mutations.remove(upload)
}

export const usePreview = (kind: Kind, id: string) =>
  useMutation({
    mutationFn: (request: Omit<Upload, 'allowances'>) =>
      upload(kind, id, { ...request, allowances: [] }, { dryRun: 'true' }) as Promise<Preview>,
  })

/** fetch does not report upload progress. */
function upload(
  kind: Kind,
  id: string,
  { content, type, allowances, onProgress }: Upload,
  more: Record<string, string> = {},
): Promise<unknown> {
  const what = kind === 'audiences' ? 'members' : 'values'
  const query = new URLSearchParams({
    ...Object.fromEntries(allowances.map((each) => [each, 'true'])),
    ...more,
  })
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    request.open('PUT', `/api/${kind}/${id}/${what}?${query}`)
    for (const [name, value] of Object.entries(CSRF_HEADERS)) request.setRequestHeader(name, value)
    request.setRequestHeader('Content-Type', type)
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(unanswered())
    request.onload = () => {
      const body: unknown = parsed(request.responseText)
      if (request.status < 300) resolve(body)
      else reject(toChangeError(body, request.status))
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
