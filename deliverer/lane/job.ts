import type { Ended } from '../endpoint/breaker.ts'

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

/** A job in its line, since when on the lane's own clock. */
export type Waiting = { job: Job; since: number }

/** What a job tells of its POST: `heard` at most once, when it is known how it ended; `done` once, when its connection is free. */
export type Turn = { heard(ended: Ended): void; done(): void }
