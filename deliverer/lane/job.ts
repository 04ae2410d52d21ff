import type { Ended } from '../webhook/breaker.ts'

/** Why a POST is not made now. */
export type PassedOver = 'breaker_open' | 'queue_full'

/** `waitMs`: it makes no sense to come again before. */
export type Refusal = { code: PassedOver; waitMs: number }

/** One POST that waits for its turn. One of `begin`, `passOver` and `drop` is called, once. */
export type Job = {
  /** Of memory, while it waits. */
  bytes: number
  /** False when it need not be made any more. */
  wanted(): boolean
  begin(turn: Turn): void
  passOver(refusal: Refusal): void
  drop(): void
}

/** A job in its line. `since`: when it came, by the lane's clock. `isProbe`: it may begin at an open breaker.
 * `isUnproven`: its webhook had not just answered. */
export type Waiting = { job: Job; since: number; isProbe: boolean; isUnproven: boolean }

/**
 * What a job reports about its POST. `connected`: a new connection was made for it. `heard`: called at most once, when
 * its end is known; `sent` says that the request was sent, so a failure is the webhook's and not its host's. `done`:
 * called once, when its connection is free.
 */
export type Turn = { connected(): void; heard(ended: Ended, sent: boolean): void; done(): void }
