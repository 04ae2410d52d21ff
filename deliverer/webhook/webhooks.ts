import { LRUCache } from 'lru-cache'
import type { Target } from '../plan.ts'
import { afterPost, afterProbe, type Breaker, type Ended, HEALTHY, opened, permit } from './breaker.ts'

/**
 * What the webhooks of one URL origin share: whether it can be reached at all. Only failures before a request was sent count
 * here: name look-up, connect and TLS.
 */
/** `webhooks`: how many are remembered; with the last one the host is forgotten. `open`: how many of their breakers are open. */
export type HostState = { readonly origin: string; breaker: Breaker; webhooks: number; open: number }

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
  /** When it last answered. */
  answeredAt: number
  /** When its breaker opened, or it was last probed. */
  probedAt: number
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
  /** What may go to it now: a probe is for the host when that is in trouble, else for the webhook. */
  permit(webhook: WebhookState, now: number): ReturnType<typeof permit>
  /** Opens the webhook's breaker: its host has no room for webhooks that fail. */
  open(webhook: WebhookState, now: number): void
  /** A probe goes. */
  probed(webhook: WebhookState, now: number): void
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
/**
 * Webhooks that are remembered at once; those that were used longest ago give way. With its lines in both lanes one takes 1.3 KB, and
 * 2.5 KB more for a host of its own.
 */
const MOST = 50_000
/** So long, times the number of a host's open webhooks, each waits for its next probe: 33 probes a second. */
const PROBE_SPACING_MS = 30
const LATELY_MS = 60_000

export const hasAnsweredLately = ({ answeredAt }: Pick<WebhookState, 'answeredAt'>, now: number) =>
  now - answeredAt <= LATELY_MS

export function createWebhooks(): Webhooks {
  const hosts = new Map<string, HostState>()
  const webhooks = new LRUCache<string, WebhookState>({
    max: MOST,
    dispose({ host, breaker }) {
      host.webhooks -= 1
      if (breaker.open) host.open -= 1
      if (host.webhooks === 0) hosts.delete(host.origin)
    },
  })
  const listeners: ((change: BreakerChange) => void)[] = []
  let forgotAt = 0

  function hostOf(origin: string): HostState {
    const known = hosts.get(origin)
    if (known) return known
    const made: HostState = { origin, breaker: HEALTHY, webhooks: 0, open: 0 }
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
    const made: WebhookState = {
      key,
      host,
      breaker: HEALTHY,
      answerMs: 0,
      behind: 0,
      answeredAt: Number.NEGATIVE_INFINITY,
      probedAt: now,
      usedAt: now,
    }
    webhooks.set(key, made)
    return made
  }

  const hear = (of: HostState | WebhookState, ended: Ended, now: number) =>
    change(of, afterPost(of.breaker, ended, now), now)

  function change(of: HostState | WebhookState, breaker: Breaker, now: number): void {
    const before = of.breaker
    of.breaker = breaker
    if (before.open === breaker.open) return
    const change = 'key' in of ? { host: of.host, webhook: of } : { host: of }
    // one that was forgotten meanwhile is not counted
    if ('key' in of && webhooks.peek(of.key) === of) {
      of.host.open += breaker.open ? 1 : -1
      of.probedAt = now
    }
    for (const listener of listeners) listener({ ...change, breaker: of.breaker })
  }

  return {
    of,
    deferred(targets, now) {
      for (const target of targets) of(target, now).behind += 1
    },
    heard(webhook, ended, { sent, now }) {
      if (ended === 'answered') webhook.answeredAt = now
      if (sent || ended === 'answered') hear(webhook, ended, now)
      // an answer to a request that was not sent is a refusal of ours, which says nothing about the host
      if (sent === (ended === 'answered')) hear(webhook.host, ended, now)
    },
    connected: (host, now) => hear(host, 'answered', now),
    permit(webhook, now) {
      const { host, breaker, probedAt } = webhook
      if (host.breaker.open) return permit(host.breaker, now)
      const isSpaced = breaker.open && !hasAnsweredLately(webhook, now)
      if (isSpaced && now < probedAt + host.open * PROBE_SPACING_MS) return 'nothing'
      return permit(breaker, now)
    },
    open: (webhook, now) => change(webhook, opened(webhook.breaker, now), now),
    probed(webhook, now) {
      const { host } = webhook
      if (host.breaker.open) host.breaker = afterProbe(host.breaker, now)
      else webhook.breaker = afterProbe(webhook.breaker, now)
      webhook.probedAt = now
    },
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
