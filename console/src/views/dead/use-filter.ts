import { useSearchParams } from 'wouter'
import type { DeadFilter, Reason } from '../../api/dead.ts'

export const REASONS: readonly Reason[] = ['attempts_exhausted', 'window_expired', 'refused']
const FIELDS = ['destinationId', 'reason', 'since', 'messageId'] as const

/** The filter stands in the page's address: a link can carry it. */
export function useFilter(): [DeadFilter, (filter: DeadFilter) => void] {
  const [params, setParams] = useSearchParams()
  const given = Object.fromEntries(
    FIELDS.flatMap((name) => (params.get(name) ? [[name, params.get(name)]] : [])),
  )
  const { reason: named, ...rest } = given as Record<string, string> // those that are there
  const reason = REASONS.find((one) => one === named)
  const filter: DeadFilter = { ...rest, ...(reason && { reason }) }
  return [filter, (wanted) => setParams(wanted as Record<string, string>)]
}

export const isFiltered = (filter: DeadFilter): boolean => Object.keys(filter).length > 0
