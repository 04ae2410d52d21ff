import type { TopicPartition } from './topic-partition.ts'

/**
 * `removed`: the front of the log is gone. `truncated`: its end is gone, as after a power failure or an unclean
 * election. `recreated`: the topic was deleted and created again.
 */
export type Cause = 'removed' | 'truncated' | 'recreated'

/** The topic's id, and the leader epoch of the last read. */
export type KnownLog = { id: string; epoch: number }

/**
 * `time`: of the last record read, ms since 1970. `end`: of the log when last seen. `again`: the first earlier offset
 * that must still be read.
 */
export type FetchPosition = {
  offset: number
  time?: number | undefined
  end?: number | undefined
  again?: number | undefined
}

/** `topic`: as named on the broker. The reader was at `offset` and continues at `to`. */
export type LogFault = TopicPartition & { cause: Cause; offset: number; to: number }

/** `time`: shortly before the last record read. */
export type Verdict = { cause: Cause; to: number | 'beginning' | 'time' }

/**
 * Judges a position (KIP-320). All records before it and its `end` were written by the end of `known.epoch`. If that
 * epoch ended at a lower offset, those in between are gone and their offsets are reused.
 * @param now `epochEnd`: -1: unknown to the leader; undefined: the epoch has not changed.
 */
export function judge(
  { offset, end = offset }: FetchPosition,
  known: KnownLog,
  now: { id: string; epochEnd?: number | undefined },
): Verdict | undefined {
  if (known.id !== now.id) return { cause: 'recreated', to: 'beginning' }
  // some leaders know no epoch for an empty log
  if (now.epochEnd === undefined || Math.max(0, now.epochEnd) >= Math.max(offset, end)) return undefined
  return { cause: 'truncated', to: now.epochEnd < 0 ? 'time' : now.epochEnd }
}

/** `high`: the offset after the last record. */
export function judgeRange(
  { offset, again = offset }: FetchPosition,
  { low, high }: { low: number; high: number },
): Verdict | undefined {
  if (again < low) return { cause: 'removed', to: low }
  return offset > high ? { cause: 'truncated', to: 'time' } : undefined
}
