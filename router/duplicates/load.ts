import { unpack } from './packing.ts'
import type { Window } from './window.ts'

/** In records: bounds what is read in vain. */
const MAX_STEP = 32_768

export type LoadOptions = {
  /** The partition's first offset in `router.seen`, and the one behind its last. */
  low: number
  high: number
  /** Reads from one offset to before another, in order. */
  read(from: number, to: number, onValue: (value: Buffer | null, offset: number) => void): Promise<void>
  /** Asked before each step: false ends it. */
  isWanted(): boolean
  window: Pick<Window, 'recall' | 'room'>
  windowMs: number
  /** Milliseconds of the epoch. */
  now: number
  /** Ids of events at this offset of `events` or behind are not recalled: Kafka has lost these, and they may be sent again. */
  lostFrom?: number | undefined
  onUnreadable(offset: number): void
}

/**
 * Recalls what was routed within the window before the newest event that was routed; times to come do not count as newest,
 * as one wrong clock would make all others too old. From the end backwards in steps: what a client sends again it sends
 * soon, and of more than fits the newest counts.
 */
export async function load(options: LoadOptions): Promise<void> {
  const { low, high, read, isWanted, window, windowMs, now, onUnreadable } = options
  const { lostFrom = Number.POSITIVE_INFINITY } = options
  let newest = Number.NEGATIVE_INFINITY
  // the last record alone says what is too old
  for (let to = high, step = 1; to > low && window.room() > 0 && isWanted(); ) {
    const from = Math.max(low, to - step)
    let latest = Number.NEGATIVE_INFINITY
    let entries = 0
    await read(from, to, (value, offset) => {
      const unpacked = unpack(value)
      if (!unpacked) return onUnreadable(offset)
      for (const { time } of unpacked) if (time <= now) latest = Math.max(latest, time)
      newest = Math.max(newest, latest)
      for (const entry of unpacked)
        if (entry.time >= newest - windowMs && entry.offset < lostFrom) window.recall(entry)
      entries += unpacked.length
    })
    const isPast = latest > Number.NEGATIVE_INFINITY && latest < newest - windowMs
    if (isPast) break
    step = nextStep({ step, entries, room: window.room() })
    to = from
  }
}

/**
 * How many records to read next: ever more, and as many as there is room for by what the last ones held. A guess: when the
 * older ones hold more, the newer of them do not fit any more.
 */
function nextStep({ step, entries, room }: { step: number; entries: number; room: number }): number {
  const fitting = Math.ceil((room * step) / Math.max(1, entries))
  return Math.max(1, Math.min(step * 8, MAX_STEP, fitting))
}
