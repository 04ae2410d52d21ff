import { useSearchParams } from 'wouter'
import type { DeadFilter, Reason } from '../../api/dead-letters.ts'
import { fromLocalInput, LAST_PERIODS } from '../../wording/format.ts'

export const REASONS: readonly Reason[] = [
  'attempts_exhausted',
  'window_expired',
  'rejected',
  'refused',
  'rules_failed',
]

const TEXTS = ['destinationId', 'messageId', 'event', 'user', 'status'] as const

/** Ignores unknown parameters and values. */
export function filterFromParams(params: URLSearchParams): DeadFilter {
  const text = (name: string) => params.get(name) ?? ''
  const texts = TEXTS.flatMap((name) => (text(name) ? [[name, text(name)]] : []))
  const reason = REASONS.find((one) => one === text('reason'))
  const hours = LAST_PERIODS.find(({ value }) => value === text('hours'))
  const times = (['since', 'until'] as const).flatMap((name) =>
    isTime(text(name)) ? [[name, text(name)]] : [],
  )
  return {
    ...(reason && { reason }),
    ...(hours && times.length === 0 && { hours: Number(hours.value) }),
    ...Object.fromEntries(times),
    ...(text('replayed') === 'false' && { replayed: 'false' }),
    ...Object.fromEntries(texts),
  }
}

/** The form's choice for a custom period. */
export const CUSTOM = 'custom'

/** @param values of the form's fields, with local times */
export function filterFromForm(values: URLSearchParams, applied: DeadFilter): DeadFilter {
  const params = new URLSearchParams(values)
  for (const name of ['since', 'until'] as const) {
    const time = fromLocalInput(params.get(name) ?? '', applied[name])
    params.delete(name)
    if (time !== undefined && params.get('hours') === CUSTOM) params.set(name, time)
  }
  return filterFromParams(params)
}

/** ISO 8601 in UTC, as this page writes it. */
const isTime = (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) && !Number.isNaN(Date.parse(text))

export const isFiltered = (filter: DeadFilter): boolean => Object.keys(filter).length > 0

export function useFilter(): [DeadFilter, (filter: DeadFilter) => void] {
  const [params, setParams] = useSearchParams()
  const toParams = (filter: DeadFilter) =>
    Object.entries(filter).map(([name, value]) => [name, String(value)])
  return [filterFromParams(params), (next) => setParams(Object.fromEntries(toParams(next)))]
}
