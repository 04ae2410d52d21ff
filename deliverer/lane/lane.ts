import type { HostState, WebhookState, Webhooks, WebhookTarget } from '../../delivery/webhooks.ts'
import { createRate, isQueueFull, refusal, restFor } from './backpressure.ts'
import {
  type EnteredAs,
  endInShare,
  enterShare,
  hasBlocked,
  hostAllows,
  hostAllowsProbe,
  hostLimits,
  isAnswering,
  isCrowded,
  isFailingWebhook,
  leaveShare,
  unblock,
} from './host-share.ts'
import { createBacklog, createScheduler } from './scheduler.ts'
import { type Slot, Slots } from './slots.ts'
import type { HostShare, Job, QueuedJob, Refusal, Standing, WebhookQueue } from './state.ts'
import {
  isInTrouble,
  MIN_CAP,
  onBegun,
  onEnded,
  onQueued,
  standing,
  type WaitsFor,
  WebhookQueues,
  waitsFor,
} from './webhook-queue.ts'

/** First attempts and retries have a lane each, so that many retries cannot delay a new event. */
export type Lane = {
  /** Queues a POST, or says why not. POSTs to one webhook begin in order. */
  offer(target: WebhookTarget, job: Job): Refusal | undefined
  /** So full that the consumers should pause. */
  isFull(): boolean
  pressure(target: WebhookTarget): Pressure | undefined
  /** Drops waiting POSTs that are no longer needed, for example because another process now has their partition. */
  dropUnneeded(): void
  /** Call this several times a second: frees slots of late POSTs, and defers what waits too long. */
  tick(): void
  count(): { waiting: number; prompt: number; late: number }
  waits(): Record<WaitsFor, number>
}

/**
 * For `restMs`, a webhook's deliveries should wait in Kafka, as deferring would not be faster. If `isFull`, the present
 * one too.
 */
export type Pressure = { restMs: number; isFull: boolean }

export type LaneOptions = {
  slots: number
  webhooks: Webhooks
  isBusy: () => boolean
  /** A pausing clock (process/pausing-clock.ts), the same for all lanes. */
  now: () => number
}

/** Up to twice as many POSTs may wait, as each webhook may always have a few. */
const ROOM = { posts: 4_096, bytes: 32 * 1024 * 1024 }
/** POSTs that wait longer are deferred, as they hold back the commits of their partitions. */
const MAX_WAIT_MS = 5_000
/** How many blocked queues to check at once. If one has no room, others may still have some. */
const MAX_CHECKED = 64

export const createLane = (options: LaneOptions): Lane => new SlotLane(options)

class SlotLane implements Lane {
  readonly #webhooks: Webhooks
  readonly #isBusy: () => boolean
  readonly #now: () => number
  /** The highest cap of a webhook. */
  readonly #most: number
  readonly #slots: Slots
  readonly #queues: WebhookQueues
  readonly #backlog = createBacklog()
  readonly #scheduler = createScheduler()
  readonly #answers = createRate()
  readonly #withBlocked = new Set<HostShare>()
  #isPumping = false

  constructor({ slots, webhooks, isBusy, now }: LaneOptions) {
    this.#webhooks = webhooks
    this.#isBusy = isBusy
    this.#now = now
    this.#most = Math.floor(slots / 2)
    const withBlocked = this.#withBlocked
    this.#queues = new WebhookQueues({ webhooks, limits: hostLimits(slots, ROOM), withBlocked })
    this.#slots = new Slots(slots)
    webhooks.onChange(({ host, webhook, breaker }) => {
      if (breaker.open) this.#empty(webhook ?? host)
    })
  }

  offer(target: WebhookTarget, job: Job): Refusal | undefined {
    const now = this.#now()
    const queue = this.#queues.of(target, now)
    const admitted = this.#admit(queue, now)
    if (typeof admitted === 'object') return admitted
    const isProbe = admitted === 'probe'
    if (isProbe) this.#webhooks.probed(queue.webhook, now)
    this.#backlog.put(queue, { job, since: now, isProbe, isUnproven: !isAnswering(queue, now) })
    onQueued(queue, this.#most, now)
    this.#scheduler.add(queue, now)
    this.#pump()
    return undefined
  }

  #admit(queue: WebhookQueue, now: number): 'queue' | 'probe' | Refusal {
    const may = this.#webhooks.permit(queue.webhook, now)
    if (may === 'probe') {
      this.#slots.age(now)
      if (this.#slots.isFree('doubtful', now) && hostAllowsProbe(queue, now)) return 'probe'
    }
    if (may === 'all' && isFailingWebhook(queue, now) && !hostAllows(queue, now)) {
      this.#openBreaker(queue, now)
      return refusal(queue, 'queue_full', now)
    }
    if (may !== 'all') return refusal(queue, 'breaker_open', now)
    return this.#isFullFor(queue, now) ? refusal(queue, 'queue_full', now) : 'queue'
  }

  #isFullFor(queue: WebhookQueue, now: number): boolean {
    if (isCrowded(queue, now)) return true
    return isQueueFull({
      queued: { posts: queue.jobs.length(), bytes: queue.queuedBytes },
      waiting: { posts: this.#backlog.count(), bytes: this.#backlog.bytes() },
      room: ROOM,
      perSecond: queue.perSecond,
      inTrouble: isInTrouble(queue, now),
    })
  }

  /** A POST that ends at once calls this again. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      const now = this.#now()
      this.#slots.age(now)
      const isFree = (expected: Standing) => this.#slots.isFree(expected, now)
      const next = () => this.#scheduler.next(isFree, now)
      for (let queue = next(); queue; queue = next()) {
        this.#beginNext(queue, now)
        this.#scheduler.add(queue, now)
      }
    } finally {
      this.#isPumping = false
    }
  }

  #beginNext(queue: WebhookQueue, now: number): void {
    const expected = standing(queue)
    const isProbe = queue.jobs.first()?.isProbe === true
    const job = this.#backlog.take(queue)
    if (!job?.isNeeded()) {
      job?.drop()
      return
    }
    const slot = this.#slots.take(expected, queue.share, now)
    const as = enterShare(queue, isProbe, now)
    onBegun(queue, now)
    job.begin({
      connected: () => this.#webhooks.connected(queue.webhook.host, this.#now()),
      ended: (ended, sent) => {
        const endedAt = this.#now()
        if (ended === 'answered') this.#answers.add(endedAt)
        onEnded(queue, { ended, begunAt: now, most: this.#most }, endedAt)
        endInShare(queue, { ended, hasOthers: queue.inFlight > 1 })
        this.#webhooks.ended(queue.webhook, ended, { sent, now: endedAt })
      },
      release: () => this.#release(queue, slot, as),
    })
  }

  #release(queue: WebhookQueue, slot: Slot, as: EnteredAs): void {
    if (slot.free) return
    const now = this.#now()
    this.#slots.release(slot)
    queue.inFlight -= 1
    leaveShare(queue, { as, isIdle: queue.inFlight === 0 })
    if (hasBlocked(queue.share)) this.#admitBlocked(queue.share, now)
    this.#scheduler.add(queue, now)
    this.#pump()
  }

  /** Reschedules queues that wait for their host, while it has room. */
  #admitBlocked(share: HostShare, now: number): void {
    let left = MAX_CHECKED
    for (const queue of share.blocked.known) {
      if (left === 0) break
      left -= 1
      this.#unblock(queue, now)
    }
    for (const queue of share.blocked.untested) if (!this.#unblock(queue, now)) break
    if (!hasBlocked(share)) this.#withBlocked.delete(share)
  }

  /** @returns false if it keeps waiting for its host, in its place. */
  #unblock(queue: WebhookQueue, now: number): boolean {
    if (queue.jobs.length() > 0 && waitsFor(queue, now) === 'host') {
      if (!isFailingWebhook(queue, now)) return false
      this.#openBreaker(queue, now)
    }
    unblock(queue.share, queue)
    this.#scheduler.add(queue, now)
    return true
  }

  /** The host has no room for failing webhooks: this one is only probed from now on. */
  #openBreaker(queue: WebhookQueue, now: number): void {
    while (queue.jobs.length() > 0) this.#backlog.take(queue)?.defer(refusal(queue, 'queue_full', now))
    this.#webhooks.open(queue.webhook, now)
  }

  /** Defers all POSTs that wait for a webhook or host whose breaker has opened. */
  #empty(of: WebhookState | HostState): void {
    const concerned = 'key' in of ? [this.#queues.known(of)] : this.#queuesOf(of)
    for (const queue of concerned) {
      if (!queue) continue
      queue.cap = MIN_CAP
      while (queue.jobs.length() > 0)
        this.#backlog.take(queue)?.defer(refusal(queue, 'breaker_open', this.#now()))
    }
  }

  #queuesOf(host: HostState): WebhookQueue[] {
    return this.#backlog.queues().filter(({ webhook }) => webhook.host === host)
  }

  isFull(): boolean {
    return this.#backlog.count() >= ROOM.posts * 2 || this.#backlog.bytes() >= ROOM.bytes
  }

  pressure(target: WebhookTarget): Pressure | undefined {
    if (this.#backlog.count() < this.#most) return undefined
    const now = this.#now()
    const queue = this.#queues.of(target, now)
    const speed = { perSecond: this.#answers.perSecond(now), isBusy: this.#isBusy() }
    const restMs = restFor(queue, speed, now)
    return restMs > 0 ? { restMs, isFull: this.#isFullFor(queue, now) } : undefined
  }

  dropUnneeded(): void {
    for (const queue of this.#backlog.queues())
      for (let left = queue.jobs.length(); left > 0; left--) {
        const first = queue.jobs.first()
        const job = this.#backlog.take(queue)
        if (first && job?.isNeeded()) this.#backlog.put(queue, first)
        else job?.drop()
      }
  }

  tick(): void {
    const now = this.#now()
    for (const share of this.#withBlocked) this.#admitBlocked(share, now)
    this.#pump()
    this.#deferLate(now)
  }

  #deferLate(now: number): void {
    const isLate = (first: QueuedJob | undefined) => first !== undefined && now - first.since > MAX_WAIT_MS
    for (const queue of this.#backlog.queues())
      while (isLate(queue.jobs.first())) this.#backlog.take(queue)?.defer(refusal(queue, 'queue_full', now))
  }

  count(): { waiting: number; prompt: number; late: number } {
    return { waiting: this.#backlog.count(), ...this.#slots.count() }
  }

  waits(): Record<WaitsFor, number> {
    const waits = { answer: 0, cap: 0, host: 0, slot: 0 }
    const now = this.#now()
    for (const queue of this.#backlog.queues()) waits[waitsFor(queue, now)] += 1
    return waits
  }
}
