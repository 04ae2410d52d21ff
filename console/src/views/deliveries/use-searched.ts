import { useSearchParams } from 'wouter'
import { searchAnew } from '../../api/events.ts'
import { type Search, searchIn } from '../../api/search.ts'

/** What is searched for stands in the page's address: it can be sent to a colleague. */
export function useSearched(): [Search | undefined, (search: Search) => void] {
  const [params, setParams] = useSearchParams()
  function search(wanted: Search): void {
    const { by, value, ...where } = wanted
    searchAnew(wanted)
    setParams({ [by]: value, ...where })
  }
  return [searchIn(params), search]
}
