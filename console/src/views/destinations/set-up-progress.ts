import type { Destination } from '../../api/destinations.ts'

export const STEPS = { sources: 0, webhooks: 1, secret: 2, test: 3, on: 4 } as const

/** Off, and nothing of it was changed since it was made: it was never on, so that its set-up was left before its end. */
export const isLeftOff = ({ enabled, version }: Pick<Destination, 'enabled' | 'version'>): boolean =>
  !enabled && version === 1

/** What leads on with one that is off; of one that was changed since it was made nobody can tell whether it was on before. */
export const goOnWith = (destination: Pick<Destination, 'enabled' | 'version'>): string =>
  isLeftOff(destination) ? 'Continue set-up' : 'Test and turn on'

export const setUpOf = ({ id }: Pick<Destination, 'id'>): string => `/catalog/webhooks/${id}`

/** Where its set-up goes on. A URL it has, as it would not have been saved without, and whether it wants a secret was asked before. */
export function nextStep({ enabled, sourceIds }: Pick<Destination, 'enabled' | 'sourceIds'>): number {
  if (enabled) return STEPS.on
  return sourceIds.length === 0 ? STEPS.sources : STEPS.test
}
