import { ones } from '../../../delivery/breaker.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Destination } from '../../../settings/settings.ts'
import type { Figures } from '../figures/figures.ts'
import { bucketStarts, type Counts, type Series } from '../figures/series.ts'
import { type BreakerState, createBreakers } from './breakers.ts'
import { createEarly, createLastPosts, currentWebhooks, type Last } from './last-posts.ts'

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

type HealthParts = {
  destinations: Pick<ReadonlyMap<string, Destination>, 'get'>
  figures: Pick<Figures, 'of'>
  now: () => number
}

export function createHealth({ destinations, figures, now }: HealthParts): Health {
  const lastPosts = createLastPosts()
  const breakers = createBreakers()
  const early = createEarly()
  let hasBegun = false

  function currentOf({ destinationId, urlIndex }: Attempt) {
    const destination = destinations.get(destinationId)
    return destination && currentWebhooks(destination)[urlIndex ?? -1]
  }

  function webhooksOf(destination: Destination) {
    const time = now()
    return currentWebhooks(destination).map((current) => {
      const { urlIndex, webhook } = current
      const { state: breaker, since } = breakers.of(webhook, time)
      const last = lastPosts.of(destination.id, current)
      const isBad = last !== undefined && isInTrouble(last, time)
      return { urlIndex, breaker, since, state: statusOf(destination, breaker, { last, isBad }), last }
    })
  }

  return {
    attempt(logged) {
      const attempt = notInFuture(logged, now())
      if (!hasBegun) early.add(attempt)
      const current = hasBegun ? currentOf(attempt) : undefined
      const isOfWebhook = lastPosts.add(attempt, current)
      if (current && isOfWebhook) breakers.observe(current.webhook, attempt)
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

const healthOf = ({ urlIndex, breaker, since, state, last }: Shown): WebhookHealth => ({
  urlIndex,
  breaker,
  since,
  state,
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
