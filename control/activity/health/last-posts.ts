import { LRUCache } from 'lru-cache'
import { targetsOf } from '../../../delivery/targets.ts'
import { perObject } from '../../../process/per-object.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Destination } from '../../../settings/settings.ts'

/** Attempts have only a position. Before `changedAt`, another webhook may have had it. */
export type Current = { urlIndex: number; webhook: string; changedAt: number }

// made once: a check for notices compares all webhooks every 5 s
export const currentWebhooks = perObject((destination: Destination): readonly Current[] => {
  const changedAt = Date.parse(destination.updatedAt)
  return targetsOf(destination).map(({ urlIndex, webhook }) => ({ urlIndex, webhook, changedAt }))
})

/** `webhook`: undefined if the attempt was read before the settings. */
export type Last = {
  webhook: string | undefined
  error: Attempt | null
  deliveredAt: number | null
  recent: Recent
}
/** The last 20 POSTs. `failed`: a bit for each that was not delivered, the latest lowest. */
type Recent = { failed: number; count: number }
/** By position of the webhook. */
type LastByIndex = Map<number, Last>

export type LastPosts = {
  /**
   * Partitions of the topic have no common order.
   * @param current undefined until the settings are known.
   * @returns false if the attempt is ignored, because another webhook had the position then.
   */
  add(attempt: Attempt, current: Current | undefined): boolean
  of(destinationId: string, current: Current): Last | undefined
}

/** Each webhook that fails takes 2 KB (docs/understand/bounds.md). */
const MAX_COUNT = 10_000

/** The last results of each webhook. */
export function createLastPosts(): LastPosts {
  const held = new LRUCache<string, LastByIndex>({ max: MAX_COUNT })

  function heldOf(destinationId: string): LastByIndex {
    const found = held.get(destinationId)
    if (found) return found
    const made: LastByIndex = new Map()
    held.set(destinationId, made)
    return made
  }

  return {
    add(attempt, current) {
      const last = heldOf(attempt.destinationId)
      if (current && attempt.startedAt < current.changedAt && !lastOf(last.get(current.urlIndex), current))
        return false
      note(attempt, last, current)
      return true
    },
    of: (destinationId, current) => lastOf(held.peek(destinationId)?.get(current.urlIndex), current),
  }
}

const NONE: Recent = { failed: 0, count: 0 }
const NOTHING = { error: null, deliveredAt: null, recent: NONE } as const

function note(attempt: Attempt, last: LastByIndex, current: Current | undefined): void {
  const { urlIndex, outcome, startedAt } = attempt
  if (urlIndex === null || outcome === 'cancelled' || outcome === 'deferred') return
  const before = current ? lastOf(last.get(urlIndex), current) : last.get(urlIndex)
  const { error, deliveredAt, ...found } = before ?? NOTHING
  const isDelivered = outcome === 'delivered'
  const isNewest = isDelivered ? startedAt >= (deliveredAt ?? 0) : startedAt >= (error?.startedAt ?? 0)
  last.set(urlIndex, {
    webhook: current?.webhook,
    error: !isDelivered && isNewest ? attempt : error,
    deliveredAt: isDelivered && isNewest ? startedAt : deliveredAt,
    recent: after(found.recent, !isDelivered),
  })
}

function lastOf(last: Last | undefined, { webhook, changedAt }: Current): Last | undefined {
  if (!last || last.webhook === webhook) return last
  if (last.webhook !== undefined) return undefined
  const { error, deliveredAt, recent } = last
  const isCurrent = (at: number | null) => at !== null && at >= changedAt
  const known = {
    webhook,
    error: isCurrent(error?.startedAt ?? null) ? error : null,
    deliveredAt: isCurrent(deliveredAt) ? deliveredAt : null,
    // POSTs to the previous webhook may be among them; newer ones soon replace them
    recent,
  }
  return known.error || known.deliveredAt !== null ? known : undefined
}

const REMEMBERED = 20
const MASK = 2 ** REMEMBERED - 1

const after = ({ failed, count }: Recent, isFailed: boolean): Recent => ({
  failed: ((failed << 1) | Number(isFailed)) & MASK,
  count: Math.min(count + 1, REMEMBERED),
})

/** Per webhook, without their responses. This many failures open a breaker. */
const MAX_EARLY = 5

/**
 * Keeps the last attempts of each webhook until the settings are known: those in memory may all be of a few busy
 * webhooks.
 */
export function createEarly() {
  const byPlace = new LRUCache<string, Attempt[]>({ max: MAX_COUNT })
  const placeOf = ({ destinationId, urlIndex }: Attempt) => `${destinationId}/${urlIndex}`
  return {
    add(attempt: Attempt): void {
      const last = byPlace.get(placeOf(attempt)) ?? []
      byPlace.set(placeOf(attempt), [...last, { ...attempt, response: null }].slice(-MAX_EARLY))
    },
    /** @returns those from before the first of their webhook in `attempts`. */
    takeOthers(attempts: readonly Attempt[]): Attempt[] {
      const first = new Map<string, number>()
      for (const attempt of attempts) {
        const place = placeOf(attempt)
        first.set(place, Math.min(attempt.startedAt, first.get(place) ?? Number.POSITIVE_INFINITY))
      }
      const others = [...byPlace].flatMap(([place, last]) => {
        const end = first.get(place) ?? Number.POSITIVE_INFINITY
        return last.filter(({ startedAt }) => startedAt < end)
      })
      byPlace.clear()
      return others.sort((a, b) => a.startedAt - b.startedAt)
    },
  }
}
