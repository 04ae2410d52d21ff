import { LRUCache } from 'lru-cache'
import { targetsOf } from '../../../delivery/targets.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Destination } from '../../../settings/settings.ts'
import type { DeadLetter } from '../dead/dead-letter.ts'
import { type BreakerState, createBreakers } from './breakers.ts'
import { createMinutes, type Figures, type Minutes } from './minutes.ts'

/**
 * The state of a webhook, for people. `rejecting`: its last response was 3xx or 4xx. `failing`: its breaker
 * is open, or its last POST got no response or a 5xx. `paused`: its destination is off. `idle`: nothing was
 * sent in the last 15 minutes.
 */
export const WEBHOOK_STATES = ['failing', 'rejecting', 'healthy', 'idle', 'paused'] as const
export type WebhookStatus = (typeof WEBHOOK_STATES)[number]

/** Times are ms since 1970. */
export type WebhookHealth = {
  urlIndex: number
  breaker: BreakerState
  /** When its breaker opened or closed, if that was seen. */
  since: number | null
  state: WebhookStatus
  /** The last POST that was not delivered, rejections included. */
  lastError: Attempt | null
  lastDeliveredAt: number | null
}

export type DestinationHealth = {
  minutes: (Figures & { at: number })[]
  now: Figures
  endpoints: WebhookHealth[]
}

export type Health = {
  attempt(attempt: Attempt): void
  deadLetter(letter: Pick<DeadLetter, 'destinationId' | 'time'>): void
  /**
   * Starts to derive breakers. Call it once the settings are loaded, because they define the webhooks.
   * @param attempts recent ones, oldest first.
   */
  begin(attempts: Iterable<Attempt>): void
  of(destination: Destination): DestinationHealth
  /** Of its webhooks, the worst `breaker` and `state`, and the last status of a rejecting one. */
  lastMinute(
    destination: Destination,
  ): Figures & { breaker: BreakerState; state: WebhookStatus; rejectedStatus: number | null }
}

type Last = { error: Attempt | null; deliveredAt: number | null }
type Held = { minutes: Minutes; last: Map<number, Last> }

/** A destination with activity in every minute takes about 40 KB. The least recently active are dropped. */
const MAX_COUNT = 1_000

export function createHealth({
  destinations,
  now,
}: {
  destinations: Pick<ReadonlyMap<string, Destination>, 'get'>
  now: () => number
}): Health {
  const held = new LRUCache<string, Held>({ max: MAX_COUNT })
  const breakers = createBreakers()
  let hasBegun = false

  function heldOf(destinationId: string): Held {
    const found = held.get(destinationId)
    if (found) return found
    const made: Held = { minutes: createMinutes(), last: new Map() }
    held.set(destinationId, made)
    return made
  }

  function updateBreaker(attempt: Attempt): void {
    const destination = destinations.get(attempt.destinationId)
    const target = destination && targetsOf(destination)[attempt.urlIndex ?? -1]
    if (target) breakers.observe(target.webhook, attempt)
  }

  const webhooksOf = (destination: Destination) =>
    targetsOf(destination).map(({ urlIndex, webhook }) => {
      const { state: breaker, since } = breakers.of(webhook, now())
      const last = held.peek(destination.id)?.last.get(urlIndex)
      return { urlIndex, breaker, since, state: statusOf(destination, breaker, last), last }
    })

  const minutesOf = ({ id }: Destination) => held.peek(id)?.minutes ?? createMinutes()

  return {
    attempt(logged) {
      const attempt = notInFuture(logged, now())
      const { minutes, last } = heldOf(attempt.destinationId)
      count(attempt, minutes, now())
      note(attempt, last)
      if (hasBegun) updateBreaker(attempt)
    },
    deadLetter: ({ destinationId, time }) =>
      heldOf(destinationId).minutes.add({ what: 'dead', at: Math.min(time, now()) }, now()),
    begin(attempts) {
      for (const attempt of attempts) updateBreaker(notInFuture(attempt, now()))
      hasBegun = true
    },
    of(destination) {
      const minutes = minutesOf(destination)
      const endpoints = webhooksOf(destination).map(healthOf)
      return { minutes: minutes.all(now()), now: minutes.lastMinute(now()), endpoints }
    },
    lastMinute: (destination) => ({
      ...minutesOf(destination).lastMinute(now()),
      ...worstOf(webhooksOf(destination)),
    }),
  }
}

type Current = Pick<WebhookHealth, 'urlIndex' | 'breaker' | 'since' | 'state'> & { last: Last | undefined }

const healthOf = ({ last, ...rest }: Current): WebhookHealth => ({
  ...rest,
  lastError: last?.error ?? null,
  lastDeliveredAt: last?.deliveredAt ?? null,
})

const worstOf = (webhooks: readonly Current[]) => ({
  breaker: WORST_FIRST.find((one) => webhooks.some(({ breaker }) => breaker === one)) ?? 'unknown',
  state: WEBHOOK_STATES.find((one) => webhooks.some(({ state }) => state === one)) ?? 'idle',
  rejectedStatus: webhooks.find(({ state }) => state === 'rejecting')?.last?.error?.status ?? null,
})

/** A writer's clock may be ahead. An attempt in the future would hide newer ones until then. */
const notInFuture = (attempt: Attempt, now: number): Attempt =>
  attempt.startedAt > now ? { ...attempt, startedAt: now } : attempt

const WORST_FIRST = ['open', 'half-open', 'closed', 'unknown'] as const

function statusOf(
  { enabled }: Destination,
  breaker: BreakerState,
  { error, deliveredAt }: Last = { error: null, deliveredAt: null },
): WebhookStatus {
  if (!enabled) return 'paused'
  if (breaker === 'open' || breaker === 'half-open') return 'failing'
  if (breaker === 'unknown') return 'idle'
  if (!error || error.startedAt < (deliveredAt ?? 0)) return 'healthy'
  return error.outcome === 'rejected' ? 'rejecting' : 'failing'
}

/** A cancelled delivery is not the destination's fault, and nothing was posted. */
function count({ outcome, startedAt: at, durationMs }: Attempt, minutes: Minutes, now: number): void {
  if (outcome === 'deferred') minutes.add({ what: outcome, at }, now)
  else if (outcome !== 'cancelled') minutes.add({ what: outcome, at, durationMs }, now)
}

/** Partitions of the topic have no common order. */
function note(attempt: Attempt, last: Held['last']): void {
  const { urlIndex, outcome, startedAt } = attempt
  if (urlIndex === null || outcome === 'cancelled' || outcome === 'deferred') return
  const { error, deliveredAt } = last.get(urlIndex) ?? { error: null, deliveredAt: null }
  if (outcome === 'delivered')
    last.set(urlIndex, { error, deliveredAt: Math.max(startedAt, deliveredAt ?? startedAt) })
  else if (startedAt >= (error?.startedAt ?? startedAt)) last.set(urlIndex, { error: attempt, deliveredAt })
}
