import { useSearchParams } from 'wouter'
import type { DeadFilter, Reason } from '../../api/dead-letters.ts'
import { LAST } from '../../wording/format.ts'

export const REASONS: readonly Reason[] = ['attempts_exhausted', 'window_expired', 'rejected', 'refused']

/** @returns what a page's address says of it; what it says otherwise is passed over. */
export function filterIn(params: URLSearchParams): DeadFilter {
  const text = (name: string) => params.get(name) ?? ''
  const [destinationId, messageId] = [text('destinationId'), text('messageId')]
  const reason = REASONS.find((one) => one === text('reason'))
  const hours = LAST.find(({ value }) => value === text('hours'))
  return {
    ...(destinationId && { destinationId }),
    ...(reason && { reason }),
    ...(hours && { hours: Number(hours.value) }),
    ...(messageId && { messageId }),
  }
}

export const isFiltered = (filter: DeadFilter): boolean => Object.keys(filter).length > 0

/** The filter stands in the page's address: a link can carry it. */
export function useFilter(): [DeadFilter, (filter: DeadFilter) => void] {
  const [params, setParams] = useSearchParams()
  const inWords = (filter: DeadFilter) => Object.entries(filter).map(([name, value]) => [name, String(value)])
  return [filterIn(params), (wanted) => setParams(Object.fromEntries(inWords(wanted)))]
}
