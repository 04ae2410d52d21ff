import { LRUCache } from 'lru-cache'
import { afterPost, afterProbe, type Breaker, type Ended, HEALTHY, opened, permit } from './breaker.ts'
import type { Target } from './targets.ts'

/**
 * Webhooks with one URL origin. The breaker counts only failures before a request is sent: DNS, connect, TLS.
 * `webhooks`: how many are known; the host is forgotten with the last. `open`: with an open breaker.
 */
export type HostState = { readonly origin: string; breaker: Breaker; webhooks: number; open: number }

/** One URL of one destination: the unit of isolation. All lanes share it (docs/decisions/009). */
export type WebhookState = {
  readonly key: string
  readonly host: HostState
  breaker: Breaker
  answerMs: number
  /** Deferred deliveries, minus answers since: estimates how many are ahead of the next one. */
  behind: number
  answeredAt: number
  probedAt: number
  usedAt: number
}

export type WebhookTarget = Pick<Target, 'webhook' | 'origin'>

/** The breaker of `webhook` changed or, if that is missing, the breaker of the host. */
export type BreakerChange = { host: HostState; webhook?: WebhookState; breaker: Breaker }

export type Webhooks = {
  of(target: WebhookTarget, now: number): WebhookState
  deferred(targets: Iterable<WebhookTarget>, now: number): void
  /** `sent`: the request was sent. Otherwise a failure counts for the host. */
  ended(webhook: WebhookState, ended: Ended, by: { sent: boolean; now: number }): void
  /** A probe is for the host if the host is in trouble, otherwise for the webhook. */
  permit(webhook: WebhookState, now: number): ReturnType<typeof permit>
  open(webhook: WebhookState, now: number): void
  probed(webhook: WebhookState, now: number): void
  /** A new connection was made, so the host is reachable. */
  connected(host: HostState, now: number): void
  onChange(listener: (change: BreakerChange) => void): void
  /** Forgets unused webhooks, at most once a minute. */
  forget(now: number): void
  count(): Record<'webhooks' | 'hosts', { closed: number; open: number }>
}

/** A forgotten webhook counts as healthy. */
export const KEPT_MS = 15 * 60_000
const FORGETS_EVERY_MS = 60_000
/** A webhook takes 1.3 KB with its queues in both lanes, and 2.5 KB more with its own host. */
const MAX_WEBHOOKS = 50_000
/** An open webhook waits this long for each open one of its host: 33 probes a second. */
const PROBE_SPACING_MS = 30
const LATELY_MS = 60_000

export const hasAnsweredLately = ({ answeredAt }: Pick<WebhookState, 'answeredAt'>, now: number) =>
  now - answeredAt <= LATELY_MS

export const createWebhooks = (): Webhooks => new RememberedWebhooks()

class RememberedWebhooks implements Webhooks {
  readonly #hosts = new Map<string, HostState>()
  readonly #webhooks = new LRUCache<string, WebhookState>({
    max: MAX_WEBHOOKS,
    dispose: ({ host, breaker }) => {
      host.webhooks -= 1
      if (breaker.open) host.open -= 1
      if (host.webhooks === 0) this.#hosts.delete(host.origin)
    },
  })
  readonly #listeners: ((change: BreakerChange) => void)[] = []
  #forgotAt = 0

  of({ webhook: key, origin }: WebhookTarget, now: number): WebhookState {
    const known = this.#webhooks.get(key)
    if (known) {
      known.usedAt = now
      return known
    }
    const host = this.#hostOf(origin)
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
    this.#webhooks.set(key, made)
    return made
  }

  #hostOf(origin: string): HostState {
    const known = this.#hosts.get(origin)
    if (known) return known
    const made: HostState = { origin, breaker: HEALTHY, webhooks: 0, open: 0 }
    this.#hosts.set(origin, made)
    return made
  }

  permit(webhook: WebhookState, now: number): ReturnType<typeof permit> {
    const { host, breaker, probedAt } = webhook
    if (host.breaker.open) return permit(host.breaker, now)
    const isSpaced = breaker.open && !hasAnsweredLately(webhook, now)
    if (isSpaced && now < probedAt + host.open * PROBE_SPACING_MS) return 'nothing'
    return permit(breaker, now)
  }

  probed(webhook: WebhookState, now: number): void {
    const { host } = webhook
    if (host.breaker.open) host.breaker = afterProbe(host.breaker, now)
    else webhook.breaker = afterProbe(webhook.breaker, now)
    webhook.probedAt = now
  }

  deferred(targets: Iterable<WebhookTarget>, now: number): void {
    for (const target of targets) this.of(target, now).behind += 1
  }

  connected(host: HostState, now: number): void {
    this.#count(host, 'answered', now)
  }

  ended(webhook: WebhookState, ended: Ended, { sent, now }: { sent: boolean; now: number }): void {
    if (ended === 'answered') webhook.answeredAt = now
    if (sent || ended === 'answered') this.#count(webhook, ended, now)
    // otherwise 'answered' is a refusal of ours, which says nothing about the host
    if (sent === (ended === 'answered')) this.#count(webhook.host, ended, now)
  }

  open(webhook: WebhookState, now: number): void {
    this.#change(webhook, opened(webhook.breaker, now), now)
  }

  #count(of: HostState | WebhookState, ended: Ended, now: number): void {
    this.#change(of, afterPost(of.breaker, ended, now), now)
  }

  #change(of: HostState | WebhookState, breaker: Breaker, now: number): void {
    const before = of.breaker
    of.breaker = breaker
    if (before.open === breaker.open) return
    const change = 'key' in of ? { host: of.host, webhook: of } : { host: of }
    // not for a webhook that was forgotten in the meantime
    if ('key' in of && this.#webhooks.peek(of.key) === of) {
      of.host.open += breaker.open ? 1 : -1
      of.probedAt = now
    }
    for (const listener of this.#listeners) listener({ ...change, breaker: of.breaker })
  }

  onChange(listener: (change: BreakerChange) => void): void {
    this.#listeners.push(listener)
  }

  forget(now: number): void {
    if (now - this.#forgotAt < FORGETS_EVERY_MS) return
    this.#forgotAt = now
    for (const [key, { usedAt }] of this.#webhooks) if (now - usedAt > KEPT_MS) this.#webhooks.delete(key)
  }

  count(): Record<'webhooks' | 'hosts', { closed: number; open: number }> {
    return { webhooks: countOpen(this.#webhooks.values()), hosts: countOpen(this.#hosts.values()) }
  }
}

function countOpen(states: Iterable<{ breaker: Breaker }>): { closed: number; open: number } {
  const count = { closed: 0, open: 0 }
  for (const { breaker } of states) count[breaker.open ? 'open' : 'closed'] += 1
  return count
}
