import { useSearchParams } from 'wouter'
import type { DeliveryFilter } from '../../../api/deliveries.ts'
import { LAST_PERIODS } from '../../../wording/format.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../../wording/states.ts'

export const STATES = Object.keys(DELIVERY_STATES) as DeliveryState[]
const TEXTS = ['status', 'event', 'user', 'messageId'] as const
/** Not a week: deliveries are kept for three days. */
export const PERIODS = LAST_PERIODS.filter(({ value }) => Number(value) <= 24)

/** Ignores unknown parameters and values. */
export function filterFromParams(params: URLSearchParams): DeliveryFilter {
  const state = STATES.find((one) => one === params.get('state'))
  const hours = PERIODS.find(({ value }) => value === params.get('hours'))
  const texts = TEXTS.flatMap((name) => (params.get(name) ? [[name, params.get(name)]] : []))
  return {
    ...(state && { state }),
    ...(hours && { hours: Number(hours.value) }),
    ...Object.fromEntries(texts),
  }
}

export function useDeliveryParams() {
  const [params, setParams] = useSearchParams()
  const filter = filterFromParams(params)
  const set = (next: DeliveryFilter, opened?: string) => {
    const given = Object.entries(next).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    )
    setParams(Object.fromEntries([...given, ...(opened === undefined ? [] : [['delivery', opened]])]), {
      replace: true,
    })
  }
  return {
    filter,
    opened: params.get('delivery') ?? undefined,
    setFilter: (next: DeliveryFilter) => set(next),
    open: (id: string | undefined) => set(filter, id),
  }
}
