import type { Attempt, Call, RejectedCall } from '../../api/live.ts'
import type { Row } from '../live/feed.ts'

type First = {
  delivered: { call: Call; attempt: Attempt } | undefined
  /** The last attempt at one that has not been delivered so far. */
  tried: Attempt | undefined
  rejected: RejectedCall | undefined
}

/** Clocks of machines are not quite the same. */
const APART_MS = 5_000

/** What came of calls since the destination was turned on. @param rows newest first. @param at.onSince ISO 8601 */
export function firstOf(
  rows: readonly Row[],
  { destinationId, onSince }: { destinationId: string; onSince: string },
): First {
  const since = rows.filter(({ at }) => Date.parse(at) >= Date.parse(onSince) - APART_MS)
  const found = since.flatMap((row) =>
    row.kind === 'call'
      ? row.attempts
          .filter((attempt) => attempt.destinationId === destinationId)
          .map((attempt) => ({ call: row.call, attempt }))
      : [],
  )
  const [newest] = since
  return {
    delivered: found.find(({ attempt }) => attempt.outcome === 'delivered'),
    tried: found.findLast(({ call }) => call === found[0]?.call)?.attempt,
    rejected: newest?.kind === 'rejected' ? newest.rejected : undefined,
  }
}
