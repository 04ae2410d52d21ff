import type { Ladder } from '../../deliverer/ladder.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import { afterRound } from './fate.ts'

/**
 * When the next attempt of a delivery was, or is, to come, in ms since 1970: where that is not certain, each of the times that it can
 * be at, the earliest first. None: it is over.
 * @param attempts those that are known, oldest first.
 */
export function expected(attempts: readonly Attempt[], receivedAt: number, ladder: Ladder): number[] {
  const last = attempts.at(-1)
  if (!last) return [receivedAt]
  if (attempts.some(({ outcome }) => outcome === 'delivered' || outcome === 'cancelled')) return []
  const { state, nextAttemptAt } = afterRound(attempts, last, ladder)
  if (state !== 'retrying') return []
  if (nextAttemptAt !== null) return [nextAttemptAt]
  // put off, to a rung that the log does not name
  const delays = new Set(ladder.ladder.map(({ delayMs }) => delayMs))
  return [...delays].sort((a, b) => a - b).map((delayMs) => last.startedAt + delayMs)
}
