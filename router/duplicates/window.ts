import { createGeneration, type Generation, isBefore, MAX_IDS } from './generation.ts'
import type { Hash } from './hash.ts'

/** An event that was routed: its id, its place in its partition of `events`, its record's time in milliseconds, none to come. */
export type Entry = Hash & { offset: number; time: number }

/** The ids of one partition that were routed lately (ARCHITECTURE, "Duplicates"). */
export type Window = {
  /**
   * @returns false for a duplicate: the id is known from a lower offset. Else it is known from now on. An event that is
   * routed again after a crash has its own offset, so it is never a duplicate of itself, whatever was remembered of it.
   */
  admit(entry: Entry): boolean
  /** Takes what was routed before this process had the partition; later is fine too. */
  recall(entry: Entry): void
  /** How many more can be recalled. */
  room(): number
  size(): number
  bytes(): number
}

type Dated = Generation & { since: number }
const dated = (since: number): Dated => ({ ...createGeneration(), since })

/**
 * Two generations: one fills, the other is only looked at. They turn when the one is full, or when `windowMs` has passed
 * since its first id. So an id is known for at least `windowMs` or `maxIds` further ids, and at most for twice that.
 */
export function createWindow({ windowMs, maxIds = MAX_IDS }: { windowMs: number; maxIds?: number }): Window {
  let current: Dated | undefined
  const recalled = dated(Number.POSITIVE_INFINITY)
  let previous = recalled
  /** The highest time of a record: one whose clock was behind turns nothing. */
  let now = Number.NEGATIVE_INFINITY

  function turned(): Dated {
    if (current && (current.isFull() || current.size() >= maxIds || now > current.since + windowMs)) {
      previous = current
      current = undefined
    }
    if (now > previous.since + 2 * windowMs) previous = dated(Number.POSITIVE_INFINITY)
    current ??= dated(now)
    return current
  }

  return {
    admit(entry) {
      now = Math.max(now, entry.time)
      const into = turned()
      const { offset } = entry
      if (isBefore(into.find(entry), offset) || isBefore(previous.find(entry), offset)) return false
      into.put(entry, offset)
      return true
    },
    recall(entry) {
      if (previous !== recalled || recalled.size() >= maxIds) return
      recalled.since = Math.min(recalled.since, entry.time)
      recalled.put(entry, entry.offset)
    },
    room: () => (previous === recalled && !recalled.isFull() ? Math.max(0, maxIds - recalled.size()) : 0),
    size: () => (current?.size() ?? 0) + previous.size(),
    bytes: () => (current?.bytes() ?? 0) + previous.bytes(),
  }
}
