import type { Breaker, Ended } from '../../delivery/breaker.ts'
import type { HostState, WebhookState, Webhooks, WebhookTarget } from '../../delivery/webhooks.ts'
import { createFifo } from '../../process/fifo.ts'
import {
  createHostShare,
  hostAllows,
  isBlockedByHost,
  rollShareWindow,
  SILENT_MS,
  WINDOW_MS,
} from './host-share.ts'
import type { HostLimits, HostShare, Standing, WebhookQueue } from './state.ts'

/** How long a failure counts. By then, a webhook that still gets POSTs has failed again or is silent. */
const FRESH_MS = 5_000
const SLOW_MS = 500

type QueuesParts = { webhooks: Pick<Webhooks, 'of'>; limits: HostLimits; withBlocked: Set<HostShare> }

/** Queues are garbage collected with the state of their webhook. */
export class WebhookQueues {
  readonly #parts: QueuesParts
  readonly #queues = new WeakMap<WebhookState, WebhookQueue>()
  readonly #shares = new WeakMap<HostState, HostShare>()

  constructor(parts: QueuesParts) {
    this.#parts = parts
  }

  /** With its windows rolled. */
  of(target: WebhookTarget, now: number): WebhookQueue {
    const webhook = this.#parts.webhooks.of(target, now)
    let queue = this.#queues.get(webhook)
    if (!queue) {
      queue = createWebhookQueue(webhook, this.#shareOf(webhook.host, now), now)
      this.#queues.set(webhook, queue)
    }
    rollWindow(queue, now)
    rollShareWindow(queue.share, now)
    return queue
  }

  known(webhook: WebhookState): WebhookQueue | undefined {
    return this.#queues.get(webhook)
  }

  #shareOf(host: HostState, now: number): HostShare {
    const known = this.#shares.get(host)
    if (known) return known
    const { limits, withBlocked } = this.#parts
    const made = createHostShare(limits, now, withBlocked)
    this.#shares.set(host, made)
    return made
  }
}

export const createWebhookQueue = (webhook: WebhookState, share: HostShare, now: number): WebhookQueue => ({
  webhook,
  share,
  jobs: createFifo(),
  queuedBytes: 0,
  cap: MIN_CAP,
  inFlight: 0,
  peak: 0,
  heardAt: now,
  answers: 0,
  perSecond: 0,
  windowFrom: now,
  createdAt: now,
  listed: undefined,
})

/**
 * A slow webhook's cap grows with its queue: its answers are as close together as its POSTs began, so growing with them
 * would double each burst.
 */
export function onQueued(queue: WebhookQueue, most: number, now: number): void {
  if (standing(queue) !== 'slow' || isSilent(queue, now)) return
  queue.cap = capAfterUse(queue.cap, { inFlight: queue.inFlight + queue.jobs.length(), most })
}

/** A silent webhook gets no more POSTs until it is heard from, so a dying one takes at most a second's worth. */
export const mayBegin = (queue: WebhookQueue, now: number) =>
  queue.jobs.length() > 0 && waitsFor(queue, now) === 'slot'

/** The next POST waits for an answer to one in flight, the end of one (`cap`), its host, or a slot. */
export type WaitsFor = 'answer' | 'cap' | 'host' | 'slot'

export function waitsFor(queue: WebhookQueue, now: number): WaitsFor {
  if (isProbing(queue)) return 'slot'
  if (isSilent(queue, now)) return 'answer'
  if (queue.inFlight >= Math.floor(queue.cap)) return 'cap'
  return hostAllows(queue, now) ? 'slot' : 'host'
}

export function onBegun(queue: WebhookQueue, now: number): void {
  if (queue.inFlight === 0) queue.heardAt = now
  queue.inFlight += 1
  queue.peak = Math.max(queue.peak, queue.inFlight)
}

type Ending = { ended: Ended; begunAt: number; most: number }

/** Does not update the breaker (webhooks.ts). */
export function onEnded(queue: WebhookQueue, { ended, begunAt, most }: Ending, now: number): void {
  const { webhook, inFlight } = queue
  if (ended !== 'timed_out') queue.heardAt = now
  if (ended === 'answered') {
    queue.answers += 1
    webhook.answerMs += (now - begunAt - webhook.answerMs) / 8
    if (standing(queue) !== 'slow') queue.cap = capAfterUse(queue.cap, { inFlight, most })
  }
  if (ended === 'timed_out') queue.cap = capAfterTimeout(queue.cap)
}

export function rollWindow(queue: WebhookQueue, now: number): void {
  if (now - queue.windowFrom < WINDOW_MS) return
  // a time without POSTs says nothing about the speed
  queue.perSecond = (queue.answers * 1_000) / Math.max(WINDOW_MS, queue.heardAt - queue.windowFrom)
  queue.cap = capAfterWindow(queue.cap, queue.peak)
  queue.webhook.behind = Math.max(0, queue.webhook.behind - queue.answers)
  queue.answers = 0
  queue.peak = queue.inFlight
  queue.windowFrom = now
}

export function standing(queue: WebhookQueue): Standing {
  const { webhook } = queue
  const failingSince = webhook.breaker.failingSince ?? webhook.host.breaker.failingSince
  if (isProbing(queue) || failingSince !== undefined) return 'doubtful'
  return isSlow(queue) ? 'slow' : 'prompt'
}

const isProbing = ({ jobs }: WebhookQueue) => jobs.first()?.isProbe === true
const isSlow = ({ webhook }: WebhookQueue) => webhook.answerMs > SLOW_MS

/** POSTs are in flight, and the webhook has been silent for a second, a slow one also for its usual time. */
export const isSilent = (queue: WebhookQueue, now: number) =>
  queue.inFlight > 0 && now - queue.heardAt > SILENT_MS + (isSlow(queue) ? queue.webhook.answerMs : 0)

/** Nothing has answered for a second. A single or an old failure is no trouble. */
export function isInTrouble(queue: WebhookQueue, now: number): boolean {
  const { webhook } = queue
  return (
    isSilent(queue, now) ||
    isFailing(webhook.breaker, now) ||
    isFailing(webhook.host.breaker, now) ||
    isBlockedByHost(queue, now)
  )
}

const isFailing = ({ failingSince = Number.POSITIVE_INFINITY, failedAt = 0 }: Breaker, now: number) =>
  now - failingSince > SILENT_MS && now - failedAt <= FRESH_MS

/**
 * The cap limits a webhook's POSTs in flight in a lane. While used up it grows by one with each answer. It shrinks by
 * an eighth with each timeout. If a share p of POSTs times out it settles near 8(1 - p)/p, 72 at 10 %
 * (docs/decisions/009).
 */
export const MIN_CAP = 4

const SHRINKS_BY = 1 / 8

/**
 * @param inFlight includes the answered POST; for a slow webhook, also those that wait.
 * @param most half of the lane's slots.
 */
export function capAfterUse(cap: number, { inFlight, most }: { inFlight: number; most: number }): number {
  return inFlight >= Math.floor(cap) ? Math.min(cap + 1, Math.max(most, MIN_CAP)) : cap
}

export const capAfterTimeout = (cap: number) => Math.max(MIN_CAP, cap * (1 - SHRINKS_BY))

/**
 * Gives up unused cap, so a dying webhook holds few slots.
 * @param peak the most POSTs in flight during the window.
 */
export const capAfterWindow = (cap: number, peak: number) => Math.max(MIN_CAP, Math.min(cap, peak * 2))
