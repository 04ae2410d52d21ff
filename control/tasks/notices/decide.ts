import type { Target } from '../../../delivery/targets.ts'
import type { Event } from '../../../schemas/event.ts'
import { EMPTY_EVENT } from '../../../schemas/event-record.ts'
import type { Destination } from '../../../settings/settings.ts'
import { hashedId } from '../../../settings/suppression-list.ts'
import type { WebhookHealth } from '../../activity/health/health.ts'
import type { Announced, Trouble } from './announced.ts'

/** `id`: see `noticeId`. */
export type Observed = {
  id: string
  target: Target
  destination: Pick<Destination, 'id' | 'name'>
  health: Pick<WebhookHealth, 'state' | 'lastError' | 'lastDeliveredAt'>
}

export type State = Trouble | 'healthy'

/** `since`: ms since 1970. */
export type Change = Observed & { state: State; before: State; since: number }

export const announcedState = (announced: Announced['states'], id: string): State =>
  announced.get(id) ?? 'healthy'

/** `at`: monotonic, `since`: since 1970; both in ms. */
type Pending = { isHealthy: boolean; at: number; since: number }

/** `elapsed`: monotonic; `now`: since 1970; both in ms. */
type Time = { elapsed: number; now: number }

/** A look at all webhooks, one by one. */
export type Look = {
  changeOf(observed: Observed, announced: Announced['states'], time: Time): Change | undefined
  /** Forgets the pending changes of webhooks that this look has not found. */
  end(): void
}

/**
 * Compares the states of webhooks with those announced. A change counts once it has lasted for `delayMs`. Idle and
 * paused webhooks keep the announced state.
 */
export function createWatch(delayMs: number): { look(): Look } {
  let pending = new Map<string, Pending>()

  function look(): Look {
    const next: typeof pending = new Map()
    return {
      changeOf(observed, announced, { elapsed, now }) {
        const { id, health } = observed
        const { state } = health
        if (state === 'idle' || state === 'paused') return undefined
        const before = announcedState(announced, id)
        if (state === before) return undefined
        const isHealthy = state === 'healthy'
        const known = pending.get(id)
        // a webhook that switches between failing and rejecting is in trouble all the time
        const since = known?.isHealthy === isHealthy ? known : { isHealthy, at: elapsed, since: now }
        next.set(id, since)
        return elapsed - since.at >= delayMs ? { ...observed, state, before, since: since.since } : undefined
      },
      end() {
        pending = next
      },
    }
  }

  return { look }
}

const EVENTS_OF = {
  failing: 'Webhook Failing',
  rejecting: 'Webhook Rejecting',
  healthy: 'Webhook Recovered',
} as const satisfies Record<State, string>

/**
 * Described in docs/guides/notices.md. If the notice is written again, its id is the same, so the router drops the
 * repeat.
 */
export function noticeOf(change: Change, { sourceId, now }: { sourceId: string; now: number }): Event {
  const { target, destination, health, state, before, since } = change
  const { lastError, lastDeliveredAt } = health
  return {
    ...EMPTY_EVENT,
    messageId: hashedId([target.webhook, state, String(since)]),
    sourceId,
    type: 'track',
    anonymousId: destination.id,
    event: EVENTS_OF[state],
    properties: JSON.stringify({
      text: textOf(change),
      destinationId: destination.id,
      destinationName: destination.name,
      urlIndex: target.urlIndex,
      // the rest of the URL may contain a token
      origin: target.origin,
      state,
      before,
      since: isoTime(since),
      lastError: lastError && {
        code: lastError.code,
        status: lastError.status,
        at: isoTime(lastError.startedAt),
      },
      lastDeliveredAt: lastDeliveredAt === null ? null : isoTime(lastDeliveredAt),
    }),
    timestamp: since,
    receivedAt: now,
  }
}

const isoTime = (time: number) => new Date(time).toISOString()

function textOf({ target, destination, health: { lastError }, state }: Change): string {
  const webhook = `Webhook ${target.urlIndex + 1} of ${destination.name} (${target.origin})`
  const known = lastError?.status ?? lastError?.code
  const reason = known ? `: ${known}` : ''
  const retried =
    lastError?.outcome === 'refused'
      ? 'Refused deliveries are not retried.'
      : 'Failed deliveries are retried.'
  switch (state) {
    case 'failing':
      return `${webhook} is failing${reason}. ${retried}`
    case 'rejecting':
      return `${webhook} rejects events${reason}. Rejected deliveries are not retried.`
    case 'healthy':
      return `${webhook} works again.`
  }
}
