import { LRUCache } from 'lru-cache'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { DeadLetter } from '../dead/dead-letter.ts'
import { type Counted, NO_SERIES, Series, timed, WINDOWS } from './series.ts'

export type Figures = {
  /** @param isPast it is from before this process started. */
  attempt(attempt: Logged, isPast?: boolean): void
  deadLetter(letter: Pick<DeadLetter, 'destinationId' | 'time' | 'reason'>): void
  /** Includes deleted destinations. */
  all: Series
  of(destinationId: string): Series
}

type Logged = Pick<
  Attempt,
  'destinationId' | 'outcome' | 'startedAt' | 'durationMs' | 'acceptedAt' | 'settles'
>

/** Each takes 80 KB if busy, 180 KB at most (docs/understand/bounds.md). */
const MAX_DESTINATIONS = 1_000
const LONGEST_MS = WINDOWS['24h'].bucketMs * WINDOWS['24h'].buckets

/** Buckets follow from the times in the records, so all control processes have the same figures. */
export function createFigures(now: () => number): Figures {
  const held = new LRUCache<string, Series>({ max: MAX_DESTINATIONS })
  const all = new Series()
  const startedAt = now()

  function seriesOf(destinationId: string, isPast = false): Series | undefined {
    const found = isPast ? held.peek(destinationId) : held.get(destinationId)
    // figures of the past must not push out an active destination
    if (found || (isPast && held.size >= MAX_DESTINATIONS)) return found
    const made = new Series()
    held.set(destinationId, made)
    return made
  }

  function count(destinationId: string, counted: Counted, { time, isPast = false }: Context): void {
    all.count(counted, time)
    seriesOf(destinationId, isPast)?.count(counted, time)
  }

  return {
    attempt(attempt, isPast) {
      const time = now()
      const counted = countedOf(attempt, time)
      if (counted) count(attempt.destinationId, counted, { time, isPast })
    },
    deadLetter({ destinationId, time: at, reason }) {
      const time = now()
      // too old for the figures: the topic keeps dead letters for longer
      if (at <= time - LONGEST_MS) return
      const delivery = reason === 'rejected' ? 'rejected' : 'dead'
      const counted: Counted = { ...NOTHING, at: Math.min(at, time), delivery }
      count(destinationId, counted, { time, isPast: at < startedAt })
    },
    all,
    of: (destinationId) => held.peek(destinationId) ?? NO_SERIES,
  }
}

type Context = { time: number; isPast?: boolean | undefined }

const NOTHING = { post: undefined, delivery: undefined, responseTime: undefined, latency: undefined }

/** Always the same fields in the same order: this makes counting twice as fast. */
function countedOf(
  { outcome, startedAt, durationMs, acceptedAt, settles }: Logged,
  now: number,
): Counted | undefined {
  // nothing was posted
  if (outcome === 'cancelled') return undefined
  // records of version 0.1 do not say whether another webhook had already delivered
  const isDelivery = outcome === 'delivered' && settles !== false
  return {
    post: outcome,
    delivery: isDelivery ? outcome : undefined,
    responseTime: outcome === 'deferred' ? undefined : timed(durationMs),
    latency:
      isDelivery && acceptedAt != null ? timed(Math.max(0, startedAt + durationMs - acceptedAt)) : undefined,
    // a writer's clock may be ahead
    at: Math.min(startedAt, now),
  }
}
