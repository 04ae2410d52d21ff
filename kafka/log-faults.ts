export const partitionKey = (topic: string, partition: number) => `${topic}/${partition}`

/**
 * `removed`: records were deleted at the front of the log. `truncated`: the log has lost its end, as after a power
 * failure or an unclean leader election. `recreated`: the topic was deleted and created again.
 */
export type Cause = 'removed' | 'truncated' | 'recreated'

/** The topic's id, and the leader epoch of the last read. */
export type KnownLog = { id: string; epoch: number }

/**
 * Where a reader is. `time`: of the last record read, ms since 1970. `end`: of the log when it was last seen. `again`:
 * the first offset before `offset` that must be read again.
 */
export type Place = {
  offset: number
  time?: number | undefined
  end?: number | undefined
  again?: number | undefined
}

/** `topic`: as named on the broker. The reader was at `offset` and continues at `to`. */
export type LogFault = { topic: string; partition: number; cause: Cause; offset: number; to: number }

/** `time`: shortly before the time of the last record read. */
export type Verdict = { cause: Cause; to: number | 'beginning' | 'time' }

/**
 * Finds out whether a place is still valid (KIP-320). Everything before it, and before the `end` it has seen, was
 * written before `known.epoch` ended. If that epoch ended earlier, the records in between are gone, and other records
 * have their offsets.
 * @param now `epochEnd`: -1: the leader does not know it; undefined: the epoch has not changed.
 */
export function judge(
  { offset, end = offset }: Place,
  known: KnownLog,
  now: { id: string; epochEnd?: number | undefined },
): Verdict | undefined {
  if (known.id !== now.id) return { cause: 'recreated', to: 'beginning' }
  // some leaders know no epoch for an empty log
  if (now.epochEnd === undefined || Math.max(0, now.epochEnd) >= Math.max(offset, end)) return undefined
  return { cause: 'truncated', to: now.epochEnd < 0 ? 'time' : now.epochEnd }
}

/** Finds out whether a place is within the log. `high`: the offset after the last record. */
export function judgeRange(
  { offset, again = offset }: Place,
  { low, high }: { low: number; high: number },
): Verdict | undefined {
  if (again < low) return { cause: 'removed', to: low }
  return offset > high ? { cause: 'truncated', to: 'time' } : undefined
}
