import type { Destination } from '../../api/destinations.ts'

export const STEPS = { sources: 0, webhooks: 1, secret: 2, test: 3, on: 4 } as const

/** False if in doubt: a later version may have been on, or continue the versions of a deleted destination. */
export const wasNeverOn = ({ enabled, version }: Pick<Destination, 'enabled' | 'version'>): boolean =>
  !enabled && version === 1

/** For every destination that is off, new or not. */
export const SET_UP_LABEL = 'Test and turn on'

export const setUpPath = ({ id }: Pick<Destination, 'id'>): string => `/catalog/webhooks/${id}`

/** A saved destination has passed the URL and secret steps. */
export function nextStep({ enabled, sourceIds }: Pick<Destination, 'enabled' | 'sourceIds'>): number {
  if (enabled) return STEPS.on
  return sourceIds.length === 0 ? STEPS.sources : STEPS.test
}
