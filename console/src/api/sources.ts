import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, api, type Shapes } from './client.ts'
import { queries } from './queries.ts'

export type Source = Shapes['Source']
export type NewSource = Shapes['NewSource']

/** As many as one page takes; who has more finds them by the API. */
const query = { limit: 1_000 }

const changed = () => queries.invalidateQueries({ queryKey: ['sources'] })

export const useSources = () =>
  useQuery({
    queryKey: ['sources'],
    queryFn: async () => (await answered(api.GET('/api/sources', { params: { query } }))).items,
  })

export const useSource = (id: string) =>
  useQuery({
    queryKey: ['sources', id],
    queryFn: () => answered(api.GET('/api/sources/{id}', { params: { path: { id } } })),
  })

export const useCreateSource = () =>
  useMutation({
    mutationFn: (body: NewSource) => answered(api.POST('/api/sources', { body })),
    onSuccess: changed,
  })

export const useReplaceSource = ({ id, version }: Pick<Source, 'id' | 'version'>) =>
  useMutation({
    mutationFn: (body: Shapes['SourceReplacement']) =>
      answered(
        api.PUT('/api/sources/{id}', {
          params: { path: { id }, header: { 'if-match': `"${version}"` } },
          body,
        }),
      ),
    onSuccess: changed,
  })

export const useRemoveSource = (id: string) =>
  useMutation({
    mutationFn: () => answered(api.DELETE('/api/sources/{id}', { params: { path: { id } } })),
    onSuccess: changed,
  })
