import { useSearchParams } from 'wouter'
import type { DeadFilter, Reason } from '../../api/dead-letters.ts'
import { LAST_PERIODS } from '../../wording/format.ts'

export const REASONS: readonly Reason[] = [
  'attempts_exhausted',
  'window_expired',
  'rejected',
  'refused',
  'rules_failed',
]

const TEXTS = ['destinationId', 'messageId', 'event', 'user', 'status'] as const

/** Reads the filter from the page's address. Ignores unknown parameters and values. */
export function filterFromParams(params: URLSearchParams): DeadFilter {
  const text = (name: string) => params.get(name) ?? ''
  const texts = TEXTS.flatMap((name) => (text(name) ? [[name, text(name)]] : []))
  const reason = REASONS.find((one) => one === text('reason'))
  const hours = LAST_PERIODS.find(({ value }) => value === text('hours'))
  return {
    ...(reason && { reason }),
    ...(hours && { hours: Number(hours.value) }),
    ...(text('replayed') === 'false' && { replayed: 'false' }),
    ...Object.fromEntries(texts),
  }
}

export const isFiltered = (filter: DeadFilter): boolean => Object.keys(filter).length > 0

/** The filter is part of the page's address, so that it can be shared as a link. */
export function useFilter(): [DeadFilter, (filter: DeadFilter) => void] {
  const [params, setParams] = useSearchParams()
  const toParams = (filter: DeadFilter) =>
    Object.entries(filter).map(([name, value]) => [name, String(value)])
  return [filterFromParams(params), (next) => setParams(Object.fromEntries(toParams(next)))]
}
