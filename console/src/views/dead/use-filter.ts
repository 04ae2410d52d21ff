import { useSearchParams } from 'wouter'
import type { DeadFilter } from '../../api/dead.ts'
import { filterIn } from './filter.ts'

/** The filter stands in the page's address: a link can carry it. */
export function useFilter(): [DeadFilter, (filter: DeadFilter) => void] {
  const [params, setParams] = useSearchParams()
  const inWords = (filter: DeadFilter) => Object.entries(filter).map(([name, value]) => [name, String(value)])
  return [filterIn(params), (wanted) => setParams(Object.fromEntries(inWords(wanted)))]
}
