import type { Ended } from '../../delivery/breaker.ts'
import type { WebhookState } from '../../delivery/webhooks.ts'
import type { Pace } from './pace.ts'

/** Why a POST is not made now. */
export type PassedOver = 'breaker_open' | 'queue_full'

/** `waitMs`: it makes no sense to come again before. */
export type Refusal = { code: PassedOver; waitMs: number }

/**
 * What a job reports about its POST. `connected`: a new connection was made for it. `heard`: called at most once, when
 * its end is known; `sent` says that the request was sent, so a failure is the webhook's and not its host's. `done`:
 * called once, when its connection is free.
 */
export type Turn = { connected(): void; heard(ended: Ended, sent: boolean): void; done(): void }

/**
 * What to expect of a webhook. `doubtful`: its last POST failed, its host cannot be reached, or its next POST is a
 * probe. `slow`: it answers, but its POSTs are late (slots.ts) or nearly so.
 */
export type Standing = 'prompt' | 'slow' | 'doubtful'

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

/** First in, first out; taking costs the same however long it is. */
export type Fifo<T> = {
  push(item: T): void
  first(): T | undefined
  take(): T | undefined
  length(): number
}

export function createFifo<T>(): Fifo<T> {
  let items: T[] = []
  let head = 0

  return {
    push: (item) => void items.push(item),
    first: () => items[head],
    take() {
      if (head === items.length) return undefined
      const item = items[head]
      head += 1
      // what was taken is let go of now and then, not at each time
      if (head * 2 > items.length) {
        items = items.slice(head)
        head = 0
      }
      return item
    },
    length: () => items.length - head,
  }
}

/** What waits and what is under way for one webhook in one lane. Times are milliseconds of a steady clock. */
export type Line = {
  readonly webhook: WebhookState
  /** Shared with the other webhooks of its host in this lane. */
  readonly room: HostRoom
  readonly queue: Fifo<Waiting>
  /** Of memory, of all that waits. */
  queuedBytes: number
  cap: number
  inFlight: number
  /** Most under way in this while. */
  peak: number
  /** When it last answered or failed, or when the first of those under way began. */
  heardAt: number
  /** Answers in this while, and how many a second there were in the last one. */
  answers: number
  perSecond: number
  whileFrom: number
  readonly bornAt: number
  /** In which of the lane's lists of lines that may begin it stands. */
  listed: Standing | undefined
}

/**
 * The POSTs of one lane, under way and waiting, for all webhooks of one host. Each webhook has limits of its own. The
 * room bounds them together: a host with a thousand hanging webhooks takes no more of the lane than one webhook may,
 * and does not hold up its webhooks that answer (docs/decisions/009).
 */
export type HostRoom = {
  /** POSTs under way that hold a prompt slot (slots.ts). */
  prompt: number
  /** POSTs under way that began when their webhook had not just answered. */
  unproven: number
  /** POSTs under way to failing webhooks. */
  failing: number
  /** POSTs that wait, and their bytes; without those that came for a webhook that had just answered. */
  waiting: number
  waitingBytes: number
  /** Webhooks with POSTs under way that have been silent since `Line.heardAt`. Failing webhooks are not among them. */
  readonly unheard: Set<Line>
  /** Of these, the ones that may post because they have answered before. */
  readonly trusted: Set<Line>
  /** How many webhooks may be `unheard` but not `trusted`. Grows and shrinks like the cap of a single webhook. */
  cap: number
  /** The highest number of them since `whileFrom`. */
  peak: number
  whileFrom: number
  /** Lines that wait because the host has no room. `known` ones have answered before, `untested` ones have not. */
  readonly blocked: { readonly known: Set<Line>; readonly untested: Set<Line> }
  /** All rooms of the lane that have blocked lines. */
  readonly withBlocked: Set<HostRoom>
  readonly trials: Pace
  readonly probes: Pace
  readonly limits: HostLimits
}

/**
 * `least`, `most`: bounds of the cap. `most` also bounds the POSTs under way: those with a prompt slot, and unproven
 * ones. `reserve`: prompt slots beyond `most`: see `isAllowedReserve`. `trusted`: how many
 * webhooks. `failing`: how many POSTs. `waiting`, `waitingBytes`: how much may wait for webhooks that have not answered
 * lately.
 */
export type HostLimits = Readonly<
  Record<'least' | 'most' | 'reserve' | 'trusted' | 'failing' | 'waiting' | 'waitingBytes', number>
>
