import type { Destination } from '../../api/destinations.ts'

export const STEPS = { sources: 0, webhooks: 1, secret: 2, test: 3, on: 4 } as const

/** It is off and was never changed, so it was never on. */
export const isSetUpUnfinished = ({ enabled, version }: Pick<Destination, 'enabled' | 'version'>): boolean =>
  !enabled && version === 1

/** A changed destination may have been on. */
export const setUpLinkLabel = (destination: Pick<Destination, 'enabled' | 'version'>): string =>
  isSetUpUnfinished(destination) ? 'Continue setup' : 'Test and turn on'

export const setUpPath = ({ id }: Pick<Destination, 'id'>): string => `/catalog/webhooks/${id}`

/** A saved destination has passed the URL and secret steps. */
export function nextStep({ enabled, sourceIds }: Pick<Destination, 'enabled' | 'sourceIds'>): number {
  if (enabled) return STEPS.on
  return sourceIds.length === 0 ? STEPS.sources : STEPS.test
}
