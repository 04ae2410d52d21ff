import { LRUCache } from 'lru-cache'
import { ones } from '../../../delivery/breaker.ts'
import { targetsOf } from '../../../delivery/targets.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Destination } from '../../../settings/settings.ts'
import type { Figures } from '../figures/figures.ts'
import { bucketStarts, type Counts, type Series } from '../figures/series.ts'
import { type BreakerState, createBreakers } from './breakers.ts'

/** Described in docs/reference/health.md. */
export const WEBHOOK_STATES = ['failing', 'rejecting', 'healthy', 'idle', 'paused'] as const
export type WebhookStatus = (typeof WEBHOOK_STATES)[number]

/** Times are ms since 1970. */
export type WebhookHealth = {
  urlIndex: number
  breaker: BreakerState
  since: number | null
  state: WebhookStatus
  lastError: Attempt | null
  lastDeliveredAt: number | null
}

/** `dead`: deliveries given up, rejected ones included. Durations are in ms. */
export type Minute = Counts['posts'] & Counts['responseTime'] & { dead: number }

export type DestinationHealth = {
  minutes: (Minute & { at: number })[]
  now: Minute
  endpoints: WebhookHealth[]
}

export type Health = {
  attempt(attempt: Attempt): void
  /**
   * Call it once the settings are loaded, because they define the webhooks. For a webhook without any of `attempts`, it
   * uses the last few that `attempt` got before.
   * @param attempts recent ones, oldest first.
   */
  begin(attempts: Iterable<Attempt>): void
  of(destination: Destination): DestinationHealth
  webhooks(destination: Destination): WebhookHealth[]
  /** The worst `breaker` and `state` of its webhooks, and the last status of a rejecting one. */
  lastMinute(
    destination: Destination,
  ): Minute & { breaker: BreakerState; state: WebhookStatus; rejectedStatus: number | null }
}

/** `webhook`: undefined if the attempt was read before the settings. */
type Last = {
  webhook: string | undefined
  error: Attempt | null
  deliveredAt: number | null
  recent: Recent
}
/** The last 20 POSTs. `failed`: a bit for each that was not delivered, the latest lowest. */
type Recent = { failed: number; count: number }
/** By position of the webhook. */
type LastByIndex = Map<number, Last>

/** Each webhook that fails takes 2 KB (docs/understand/bounds.md). */
const MAX_COUNT = 10_000
/** Attempts kept per webhook before `begin`, without their responses. This many failures open a breaker. */
const MAX_EARLY = 5

type HealthParts = {
  destinations: Pick<ReadonlyMap<string, Destination>, 'get'>
  figures: Pick<Figures, 'of'>
  now: () => number
}

export function createHealth({ destinations, figures, now }: HealthParts): Health {
  const held = new LRUCache<string, LastByIndex>({ max: MAX_COUNT })
  const breakers = createBreakers()
  const early = createEarly()
  let hasBegun = false

  function heldOf(destinationId: string): LastByIndex {
    const found = held.get(destinationId)
    if (found) return found
    const made: LastByIndex = new Map()
    held.set(destinationId, made)
    return made
  }

  function currentOf({ destinationId, urlIndex }: Attempt): Current | undefined {
    const destination = destinations.get(destinationId)
    return destination && currentWebhooks(destination)[urlIndex ?? -1]
  }

  const webhooksOf = (destination: Destination) =>
    currentWebhooks(destination).map((current) => {
      const { urlIndex, webhook } = current
      const { state: breaker, since } = breakers.of(webhook, now())
      const last = lastOf(held.peek(destination.id)?.get(urlIndex), current)
      const isBad = last !== undefined && isInTrouble(last, now())
      return { urlIndex, breaker, since, state: statusOf(destination, breaker, { last, isBad }), last }
    })

  return {
    attempt(logged) {
      const attempt = notInFuture(logged, now())
      if (!hasBegun) early.add(attempt)
      const last = heldOf(attempt.destinationId)
      const current = hasBegun ? currentOf(attempt) : undefined
      if (current && attempt.startedAt < current.changedAt && !lastOf(last.get(current.urlIndex), current))
        return
      note(attempt, last, current)
      if (current) breakers.observe(current.webhook, attempt)
    },
    begin(attempts) {
      const given = [...attempts]
      for (const attempt of [...early.takeOthers(given), ...given]) {
        const past = notInFuture(attempt, now())
        const current = currentOf(past)
        if (current && past.startedAt >= current.changedAt) breakers.observe(current.webhook, past)
      }
      hasBegun = true
    },
    of(destination) {
      const [series, time] = [figures.of(destination.id), now()]
      return {
        minutes: minutesOf(series, time),
        now: minuteOf(series.lastMinute(time)),
        endpoints: webhooksOf(destination).map(healthOf),
      }
    },
    webhooks: (destination) => webhooksOf(destination).map(healthOf),
    lastMinute: (destination) => ({
      ...minuteOf(figures.of(destination.id).lastMinute(now())),
      ...worstOf(webhooksOf(destination)),
    }),
  }
}

/** Keeps the last attempts of each webhook until `begin`, because those in memory may all be of a few busy webhooks. */
function createEarly() {
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

const minuteOf = ({ posts, deliveries, responseTime }: Counts): Minute => ({
  ...posts,
  dead: deliveries.rejected + deliveries.dead,
  ...responseTime,
})

function minutesOf(series: Pick<Series, 'buckets'>, time: number): DestinationHealth['minutes'] {
  const starts = bucketStarts('1h', time)
  return series.buckets('1h', time).map((minute, place) => ({ at: starts[place] ?? 0, ...minuteOf(minute) }))
}

type Shown = Pick<WebhookHealth, 'urlIndex' | 'breaker' | 'since' | 'state'> & { last: Last | undefined }

const healthOf = ({ last, ...rest }: Shown): WebhookHealth => ({
  ...rest,
  lastError: last?.error ?? null,
  lastDeliveredAt: last?.deliveredAt ?? null,
})

const worstOf = (webhooks: readonly Shown[]) => ({
  breaker: WORST_FIRST.find((one) => webhooks.some(({ breaker }) => breaker === one)) ?? 'unknown',
  state: WEBHOOK_STATES.find((one) => webhooks.some(({ state }) => state === one)) ?? 'idle',
  rejectedStatus: webhooks.find(({ state }) => state === 'rejecting')?.last?.error?.status ?? null,
})

/** A writer's clock may be ahead, and a future attempt would hide newer ones. */
const notInFuture = (attempt: Attempt, now: number): Attempt =>
  attempt.startedAt > now ? { ...attempt, startedAt: now } : attempt

const WORST_FIRST = ['open', 'half-open', 'closed', 'unknown'] as const

function statusOf(
  { enabled, paused }: Destination,
  breaker: BreakerState,
  { last, isBad }: { last: Last | undefined; isBad: boolean },
): WebhookStatus {
  if (!enabled || paused) return 'paused'
  if (breaker === 'open' || breaker === 'half-open') return 'failing'
  if (breaker === 'unknown') return 'idle'
  if (!isBad) return 'healthy'
  return last?.error?.outcome === 'rejected' ? 'rejecting' : 'failing'
}

const REMEMBERED = 20
const MASK = 2 ** REMEMBERED - 1
const MANY = 0.2
/** After a delivered POST, fewer failures do not count. */
const SEVERAL = 3
const RECENT_MS = 30_000

/**
 * The last POST decides, unless the last one with the other result is less than 30 s old. Then the share of failures in
 * the last 20 decides.
 */
function isInTrouble({ error, deliveredAt, recent }: Last, now: number): boolean {
  if (!error) return false
  const failed = ones(recent.failed)
  const areMany = failed >= MANY * recent.count
  if (error.startedAt < (deliveredAt ?? 0))
    return areMany && failed >= SEVERAL && now - error.startedAt < RECENT_MS
  return areMany || now - (deliveredAt ?? 0) >= RECENT_MS
}

const after = ({ failed, count }: Recent, isFailed: boolean): Recent => ({
  failed: ((failed << 1) | Number(isFailed)) & MASK,
  count: Math.min(count + 1, REMEMBERED),
})

/** Attempts have only a position. Before `changedAt`, another webhook may have had it. */
type Current = { urlIndex: number; webhook: string; changedAt: number }

function currentWebhooks(destination: Destination): Current[] {
  const changedAt = Date.parse(destination.updatedAt)
  return targetsOf(destination).map(({ urlIndex, webhook }) => ({ urlIndex, webhook, changedAt }))
}

const NONE: Recent = { failed: 0, count: 0 }
const NOTHING = { error: null, deliveredAt: null, recent: NONE } as const

/**
 * Partitions of the topic have no common order.
 * @param current undefined until the settings are known.
 */
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
