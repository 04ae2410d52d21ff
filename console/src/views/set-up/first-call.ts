import type { Attempt, Call, RejectedCall } from '../../api/live.ts'
import type { Row } from '../live/feed.ts'

type FirstCall = {
  delivered: { call: Call; attempt: Attempt } | undefined
  /** For the newest call. */
  attempted: Attempt | undefined
  rejected: RejectedCall | undefined
}

/** Clocks of machines differ. */
const CLOCK_TOLERANCE_MS = 5_000

/** Calls since the destination was turned on. @param rows newest first. */
export function firstCallOf(
  rows: readonly Row[],
  { destinationId, turnedOnAt }: { destinationId: string; turnedOnAt: string },
): FirstCall {
  const since = rows.filter(
    ({ kind, at }) => kind !== 'missed' && Date.parse(at) >= Date.parse(turnedOnAt) - CLOCK_TOLERANCE_MS,
  )
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
    attempted: found.findLast(({ call }) => call === found[0]?.call)?.attempt,
    rejected: newest?.kind === 'rejected' ? newest.rejected : undefined,
  }
}
