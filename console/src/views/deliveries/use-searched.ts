import { useSearchParams } from 'wouter'
import { BY, type Search } from '../../api/events.ts'

/** What is searched for stands in the page's address: it can be sent to a colleague. */
export function useSearched(): [Search | undefined, (search: Search) => void] {
  const [params, setParams] = useSearchParams()
  const by = BY.find((name) => params.get(name))
  const search = by && { by, value: params.get(by) ?? '' }
  return [search, (wanted) => setParams({ [wanted.by]: wanted.value })]
}
