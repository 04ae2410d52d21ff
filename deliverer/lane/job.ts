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

/** A job in its line, since when on the lane's own clock. `isProbe`: it goes though the breaker is open. */
export type Waiting = { job: Job; since: number; isProbe: boolean }

/**
 * What a job tells of its POST. `connected`: a new connection was made for it. `heard`: at most once, when it is known how it ended;
 * `sent`: its request went out, so that a failure is the webhook's and not its host's. `done`: once, when its connection is free.
 */
export type Turn = { connected(): void; heard(ended: Ended, sent: boolean): void; done(): void }
