import type { Freshness } from '../api/heard.ts'

/** Why what is shown is not of now. @returns undefined: it is, or will be in a moment. */
export function whyOld({ state, isAway }: Freshness): { title: string; says: string } | undefined {
  if (state.is === 'lost' && (state.times > 1 || state.error.status !== 0))
    return { title: 'This goes on no more', says: `${state.error.message} It is tried again by itself.` }
  if (isAway)
    return {
      title: 'Kafka has not answered for a while',
      says: 'Nobody knows how things are: look at Kafka, and at control’s log.',
    }
  return undefined
}
