import type { Fate } from '../../api/search.ts'

/** Why a call does not go to a destination, by the settings of now. */
export const WHY_NOT: Record<NonNullable<Fate['reason']>, string> = {
  integrations:
    'The call itself turned it off: its integrations say "Webhooks": false, or "All": false without "Webhooks".',
  disabled: 'The destination is off. Turn it on, and replay what came in meanwhile if it is wanted.',
  type: 'The destination does not take events of this type: its settings name those that it takes.',
  source: 'The destination is not connected to this source: its settings name those that it hears of.',
  removed: 'The destination has been deleted.',
}
