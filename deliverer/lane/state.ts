import type { Ended } from '../../delivery/breaker.ts'
import type { WebhookState } from '../../delivery/webhooks.ts'
import type { Fifo } from '../../process/fifo.ts'
import type { TokenBucket } from '../../process/token-bucket.ts'

/** Why a POST is deferred. */
export type DeferCode = 'breaker_open' | 'queue_full'

/** `waitMs`: the longest useful wait. */
export type Refusal = { code: DeferCode; waitMs: number }

/** A job's slot while its POST is in flight. */
export type SlotLease = {
  connected(): void
  /**
   * The POST has ended. Called at most once. `sent`: the request was sent, so the webhook caused a failure, not its host.
   */
  ended(ended: Ended, sent: boolean): void
  release(): void
}

/**
 * `doubtful`: the last POST failed, the host cannot be reached, or the next POST is a probe. `slow`: answers come, but
 * late (slots.ts) or nearly so.
 */
export type Standing = 'prompt' | 'slow' | 'doubtful'

/** One POST that waits in the lane. Exactly one of `begin`, `defer` and `drop` is called, once. */
export type Job = {
  readonly bytes: number
  /** False when the POST need not be made any more: it is dropped. */
  isNeeded(): boolean
  begin(lease: SlotLease): void
  defer(refusal: Refusal): void
  drop(): void
}

/**
 * `since`: when it was queued, by the lane's clock. `isProbe`: it may begin although the breaker is open. `isUnproven`:
 * its webhook had not just answered.
 */
export type QueuedJob = { job: Job; since: number; isProbe: boolean; isUnproven: boolean }

/** What waits and what is in flight for one webhook in one lane. Times are milliseconds of a monotonic clock. */
export type WebhookQueue = {
  readonly webhook: WebhookState
  /** Shared with the other webhooks of its host in this lane. */
  readonly share: HostShare
  readonly jobs: Fifo<QueuedJob>
  queuedBytes: number
  cap: number
  inFlight: number
  peak: number
  /** When the webhook last answered or failed, or when the first POST in flight began. */
  heardAt: number
  /** Answers in this window, and answers a second in the last one. */
  answers: number
  perSecond: number
  windowFrom: number
  readonly createdAt: number
  listed: Standing | undefined
}

/**
 * What all webhooks of one host use of a lane together. A host with a thousand hanging webhooks uses no more than a
 * single webhook may, and does not delay webhooks that answer (docs/decisions/009).
 */
export type HostShare = {
  /** POSTs in flight that hold a prompt slot (slots.ts). */
  prompt: number
  /** POSTs in flight that began when their webhook had not just answered. */
  unproven: number
  failing: number
  /** Waiting POSTs and their bytes, without those that came for a webhook that had just answered. */
  waiting: number
  waitingBytes: number
  /** Webhooks with POSTs in flight that are not failing, in the order of `heardAt`: they have been silent since then. */
  readonly awaiting: Set<WebhookQueue>
  /** Those of `awaiting` that may be too far back in that order. */
  readonly outOfOrder: Set<WebhookQueue>
  /** Those of them that may post because they have answered before. */
  readonly trusted: Set<WebhookQueue>
  /** How many webhooks may be `awaiting` but not `trusted`. It grows and shrinks like the cap of a single webhook. */
  cap: number
  peak: number
  windowFrom: number
  /** Queues that wait because the host has no room. `known` ones have answered before, `untested` ones have not. */
  readonly blocked: { readonly known: Set<WebhookQueue>; readonly untested: Set<WebhookQueue> }
  /** All shares of the lane that have blocked queues. */
  readonly withBlocked: Set<HostShare>
  readonly trials: TokenBucket
  readonly probes: TokenBucket
  readonly limits: HostLimits
}

/**
 * `least`, `most`: bounds of the cap; `most` also bounds POSTs in flight, both with a prompt slot and unproven.
 * `reserve`: prompt slots beyond `most` (`isAllowedReserve`). `trusted`: webhooks. `failing`: POSTs. `waiting`,
 * `waitingBytes`: for webhooks that have not answered lately.
 */
export type HostLimits = Readonly<
  Record<'least' | 'most' | 'reserve' | 'trusted' | 'failing' | 'waiting' | 'waitingBytes', number>
>
