import type { Ended } from '../../delivery/breaker.ts'
import type { WebhookState } from '../../delivery/webhooks.ts'
import type { Fifo } from '../../process/fifo.ts'
import type { TokenBucket } from '../../process/token-bucket.ts'

export type DeferCode = 'breaker_open' | 'queue_full'

/** `waitMs`: the longest useful wait. */
export type Refusal = { code: DeferCode; waitMs: number }

export type SlotLease = {
  connected(): void
  /** Called at most once. `sent`: the request was sent, so the webhook caused a failure, not its host. */
  ended(ended: Ended, sent: boolean): void
  release(): void
}

/**
 * `doubtful`: the last POST failed, the host cannot be reached, or a probe is next. `slow`: answers are late (slots.ts)
 * or nearly so.
 */
export type Standing = 'prompt' | 'slow' | 'doubtful'

/** Exactly one of `begin`, `defer` and `drop` is called, once. */
export type Job = {
  readonly bytes: number
  /** False when the POST need not be made: it is dropped. */
  isNeeded(): boolean
  begin(lease: SlotLease): void
  defer(refusal: Refusal): void
  drop(): void
}

/**
 * `since`: by the lane's clock. `isProbe`: may begin although the breaker is open. `isUnproven`: its webhook had not
 * just answered.
 */
export type QueuedJob = { job: Job; since: number; isProbe: boolean; isUnproven: boolean }

/** One webhook in one lane. Times are milliseconds of a monotonic clock. */
export type WebhookQueue = {
  readonly webhook: WebhookState
  readonly share: HostShare
  readonly jobs: Fifo<QueuedJob>
  queuedBytes: number
  cap: number
  inFlight: number
  peak: number
  /** When it last answered or failed, or when the first POST in flight began. */
  heardAt: number
  /** Answers in this window, and per second in the last one. */
  answers: number
  perSecond: number
  windowFrom: number
  readonly createdAt: number
  listed: Standing | undefined
}

/**
 * What all webhooks of a host use of a lane. A thousand hanging ones use no more than one may, and do not delay those
 * that answer (docs/decisions/009).
 */
export type HostShare = {
  /** POSTs in flight with a prompt slot (slots.ts). */
  prompt: number
  /** POSTs in flight whose webhook had not just answered when they began. */
  unproven: number
  failing: number
  /** Not counting POSTs for webhooks that had just answered. */
  waiting: number
  waitingBytes: number
  /** Webhooks with POSTs in flight that are not failing, in the order of `heardAt`. */
  readonly awaiting: Set<WebhookQueue>
  /** Webhooks in `awaiting` whose place in that order may be too late. */
  readonly outOfOrder: Set<WebhookQueue>
  /** Webhooks in `awaiting` that may post because they answered before. */
  readonly trusted: Set<WebhookQueue>
  /** How many may be `awaiting` but not `trusted`. It changes like the cap of a webhook. */
  cap: number
  peak: number
  windowFrom: number
  /** Queues that wait for room at the host. `known` ones have answered before. */
  readonly blocked: { readonly known: Set<WebhookQueue>; readonly untested: Set<WebhookQueue> }
  /** All shares of the lane with blocked queues. */
  readonly withBlocked: Set<HostShare>
  readonly trials: TokenBucket
  readonly probes: TokenBucket
  readonly limits: HostLimits
}

/**
 * `least`, `most`: bounds of the cap; `most` also bounds prompt slots and unproven POSTs. `reserve`: prompt slots
 * beyond `most` (`isAllowedReserve`). `trusted`: webhooks. `failing`: POSTs. `waiting`, `waitingBytes`: for webhooks
 * that have not just answered.
 */
export type HostLimits = Readonly<
  Record<'least' | 'most' | 'reserve' | 'trusted' | 'failing' | 'waiting' | 'waitingBytes', number>
>
