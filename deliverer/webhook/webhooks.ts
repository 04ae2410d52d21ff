import { LRUCache } from 'lru-cache'
import type { Target } from '../plan.ts'
import { afterPost, type Breaker, type Ended, HEALTHY } from './breaker.ts'

/**
 * What the webhooks of one URL origin share: whether it can be reached at all. Only failures before a request was sent count
 * here: name look-up, connect and TLS.
 */
/** `webhooks`: how many are remembered; with the last one the host is forgotten. */
export type HostState = { readonly origin: string; breaker: Breaker; webhooks: number }

/** One URL of one destination: the unit of isolation. All lanes of this process share it (docs/decisions/009). */
export type WebhookState = {
  /** See `Target`. */
  readonly key: string
  readonly host: HostState
  breaker: Breaker
  /** Milliseconds that its answers take, the last ones counting most. */
  answerMs: number
  /** Deliveries for it that this process has deferred, less what it has answered since: about how many are before the next one. */
  behind: number
  /** When a delivery last named it. */
  usedAt: number
}

export type WebhookTarget = Pick<Target, 'webhook' | 'origin'>

/** A breaker has opened or closed: of one webhook, or of a host when there is no webhook. */
export type BreakerChange = { host: HostState; webhook?: WebhookState; breaker: Breaker }

export type Webhooks = {
  of(target: WebhookTarget, now: number): WebhookState
  /** A delivery for these was deferred for the first time. */
  deferred(targets: Iterable<WebhookTarget>, now: number): void
  /** A POST has ended. `sent`: the request went out; without it the failure is the host's. */
  heard(webhook: WebhookState, ended: Ended, by: { sent: boolean; now: number }): void
  /** A new connection to the host was made: it can be reached. */
  connected(host: HostState, now: number): void
  onChange(listener: (change: BreakerChange) => void): void
  /** Forgets what nothing has named for long; may be called as often as one likes. */
  forget(now: number): void
  count(): Record<'webhooks' | 'hosts', { closed: number; open: number }>
}

/** What is forgotten is taken for healthy when it is named again; that costs a webhook in trouble some POSTs. */
export const KEPT_MS = 15 * 60_000
const FORGETS_EVERY_MS = 60_000
/** Webhooks that are remembered at once, some 500 bytes each, and as much for a host; those that were used longest ago give way. */
const MOST = 100_000

export function createWebhooks(): Webhooks {
  const hosts = new Map<string, HostState>()
  const webhooks = new LRUCache<string, WebhookState>({
    max: MOST,
    dispose({ host }) {
      host.webhooks -= 1
      if (host.webhooks === 0) hosts.delete(host.origin)
    },
  })
  const listeners: ((change: BreakerChange) => void)[] = []
  let forgotAt = 0

  function hostOf(origin: string): HostState {
    const known = hosts.get(origin)
    if (known) return known
    const made: HostState = { origin, breaker: HEALTHY, webhooks: 0 }
    hosts.set(origin, made)
    return made
  }

  function of({ webhook: key, origin }: WebhookTarget, now: number): WebhookState {
    const known = webhooks.get(key)
    if (known) {
      known.usedAt = now
      return known
    }
    const host = hostOf(origin)
    host.webhooks += 1
    const made: WebhookState = { key, host, breaker: HEALTHY, answerMs: 0, behind: 0, usedAt: now }
    webhooks.set(key, made)
    return made
  }

  function hear(of: HostState | WebhookState, ended: Ended, now: number): void {
    const before = of.breaker
    of.breaker = afterPost(before, ended, now)
    if (before.open === of.breaker.open) return
    const change = 'key' in of ? { host: of.host, webhook: of } : { host: of }
    for (const listener of listeners) listener({ ...change, breaker: of.breaker })
  }

  return {
    of,
    deferred(targets, now) {
      for (const target of targets) of(target, now).behind += 1
    },
    heard(webhook, ended, { sent, now }) {
      if (sent || ended === 'answered') hear(webhook, ended, now)
      if (!sent || ended === 'answered') hear(webhook.host, ended, now)
    },
    connected: (host, now) => hear(host, 'answered', now),
    onChange: (listener) => void listeners.push(listener),
    forget(now) {
      if (now - forgotAt < FORGETS_EVERY_MS) return
      forgotAt = now
      for (const [key, { usedAt }] of webhooks) if (now - usedAt > KEPT_MS) webhooks.delete(key)
    },
    count: () => ({ webhooks: countOpen(webhooks.values()), hosts: countOpen(hosts.values()) }),
  }
}

function countOpen(states: Iterable<{ breaker: Breaker }>): { closed: number; open: number } {
  const count = { closed: 0, open: 0 }
  for (const { breaker } of states) count[breaker.open ? 'open' : 'closed'] += 1
  return count
}
