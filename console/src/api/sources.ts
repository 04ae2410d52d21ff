import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { allOf, answered, api, carriedOut, type Shapes } from './client.ts'
import { listEvery, queries } from './queries.ts'

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
