import type { Breaker, Ended } from '../../delivery/breaker.ts'
import type { WebhookState } from '../../delivery/webhooks.ts'
import { hostAllows, isHeldByHost } from './host-room.ts'
import { createFifo, type HostRoom, type Line, type Standing } from './state.ts'

const SILENT_MS = 1_000
/** As long as an answer may take: of an endpoint in trouble that gets POSTs one is known to have failed within that time. */
const FRESH_MS = 5_000
const SLOW_MS = 500
const WHILE_MS = 1_000
/** Answers a second. Of deliveries that are put off a process can write some three times as many. */
const FAST = 4_000
const MOST = 3 / 4
const LONGEST_REST_MS = 100

export const createLine = (webhook: WebhookState, room: HostRoom, now: number): Line => ({
  webhook,
  room,
  queue: createFifo(),
  queuedBytes: 0,
  cap: LEAST_CAP,
  inFlight: 0,
  peak: 0,
  heardAt: now,
  answers: 0,
  perSecond: 0,
  whileFrom: now,
  bornAt: now,
  listed: undefined,
})

const isProbing = ({ queue }: Line) => queue.first()?.isProbe === true
const isSlow = ({ webhook }: Line) => webhook.answerMs > SLOW_MS

/** Nothing has been heard of its POSTs for a second, or, of a slow endpoint's, for a second more than its answers take. */
export const isSilent = (line: Line, now: number) =>
  line.inFlight > 0 && now - line.heardAt > SILENT_MS + (isSlow(line) ? line.webhook.answerMs : 0)

/** Nothing has answered for a second: one failure among answers is no trouble, nor is one that was a while ago. */
export function isInTrouble(line: Line, now: number): boolean {
  const { webhook } = line
  return (
    isSilent(line, now) ||
    isFailing(webhook.breaker, now) ||
    isFailing(webhook.host.breaker, now) ||
    isHeldByHost(line, now)
  )
}

const isFailing = ({ failingSince = Number.POSITIVE_INFINITY, failedAt = 0 }: Breaker, now: number) =>
  now - failingSince > SILENT_MS && now - failedAt <= FRESH_MS

/**
 * A silent line begins no more until it is heard of: what an endpoint that has just died can take is what came for it within
 * that second. An endpoint that is slow but answers is heard of all the time.
 */
export const mayBegin = (line: Line, now: number) => line.queue.length() > 0 && waitsFor(line, now) === 'slot'

/**
 * What the line's next POST waits for: an answer to those under way (`answer`), the end of one of them (`cap`), room at
 * its host (`host`), or a slot of the lane (`slot`).
 */
export type WaitsFor = 'answer' | 'cap' | 'host' | 'slot'

export function waitsFor(line: Line, now: number): WaitsFor {
  if (isProbing(line)) return 'slot'
  if (isSilent(line, now)) return 'answer'
  if (line.inFlight >= Math.floor(line.cap)) return 'cap'
  return hostAllows(line, now) ? 'slot' : 'host'
}

export function standing(line: Line): Standing {
  const { webhook } = line
  const failingSince = webhook.breaker.failingSince ?? webhook.host.breaker.failingSince
  if (isProbing(line) || failingSince !== undefined) return 'doubtful'
  return isSlow(line) ? 'slow' : 'prompt'
}

/** Of the lane: what it answers a second, all endpoints together, and whether the process has no time left. */
export type LaneSpeed = { perSecond: number; isBusy: boolean }

/**
 * Enough waits for it, twice what it may have under way and what it answers in 50 ms, and to put the rest off would not be
 * faster than to wait: it is fast, or nearly all that a busy process has to do, or it is this process that cannot begin what it
 * might have under way. A new one is supposed to be fast.
 * @returns milliseconds until half of what is enough waits; 0 when less is there already, or the rest is to be put off.
 */
export function satedFor(line: Line, lane: LaneSpeed, now: number): number {
  const { queue, cap, bornAt } = line
  const rate = answersPerSecond(line, now)
  const enough = Math.max(cap * 2, rate / 20)
  if (queue.length() < enough || isSilent(line, now) || standing(line) === 'doubtful') return 0
  const isMost = rate >= lane.perSecond * MOST
  const isHeldUp = standing(line) === 'prompt' && line.inFlight < Math.floor(cap)
  if (rate < FAST && !(lane.isBusy && (isMost || isHeldUp)) && now - bornAt >= WHILE_MS) return 0
  return Math.min(LONGEST_REST_MS, ((queue.length() - enough / 2) * 1_000) / Math.max(rate, 1))
}

function answersPerSecond({ perSecond, answers, whileFrom }: Line, now: number): number {
  return Math.max(perSecond, (answers * 1_000) / Math.max(now - whileFrom, WHILE_MS / 4))
}

/**
 * One more has come for it. A slow endpoint's cap grows with what comes, not with its answers: these are as close to each other as
 * its POSTs began, and each would bring one more, so that it would get twice as many at once each time.
 * @param most the highest cap that there is.
 */
export function came(line: Line, most: number, now: number): void {
  if (standing(line) !== 'slow' || isSilent(line, now)) return
  line.cap = capUsedUp(line.cap, { inFlight: line.inFlight + line.queue.length(), most })
}

export function begun(line: Line, now: number): void {
  if (line.inFlight === 0) line.heardAt = now
  line.inFlight += 1
  line.peak = Math.max(line.peak, line.inFlight)
}

type Hearing = { ended: Ended; begunAt: number; most: number }

/**
 * A POST has ended. Updates the line, but not the webhook's breaker (webhooks.ts).
 * @param most the highest cap that there is.
 */
export function heard(line: Line, { ended, begunAt, most }: Hearing, now: number): void {
  const { webhook, inFlight } = line
  if (ended !== 'timed_out') line.heardAt = now
  if (ended === 'answered') {
    line.answers += 1
    webhook.answerMs += (now - begunAt - webhook.answerMs) / 8
    if (standing(line) !== 'slow') line.cap = capUsedUp(line.cap, { inFlight, most })
  }
  if (ended === 'timed_out') line.cap = capAfterTimeout(line.cap)
}

/** Once in a while, whenever the line is looked at: what was used and answered becomes what is gone by. */
export function turn(line: Line, now: number): void {
  const passed = now - line.whileFrom
  if (passed < WHILE_MS) return
  // what it has not been asked for a while says nothing of its speed
  line.perSecond = (line.answers * 1_000) / Math.max(WHILE_MS, line.heardAt - line.whileFrom)
  line.cap = capAfterWhile(line.cap, line.peak)
  line.webhook.behind = Math.max(0, line.webhook.behind - line.answers)
  line.answers = 0
  line.peak = line.inFlight
  line.whileFrom = now
}

/**
 * How many POSTs one endpoint may have under way in a lane: it grows with each answer while it is used up, so it doubles in the
 * time of one exchange, and shrinks by an eighth with each time-out. Where a share p of POSTs times out it settles near
 * 8(1 - p)/p: 400 at 2 %, 72 at 10 %, 8 at half (docs/decisions/009).
 */
export const LEAST_CAP = 4

const SHRINKS_BY = 1 / 8

/**
 * After an answer, or for a slow endpoint when a POST comes for it (line.ts).
 * @param inFlight POSTs under way, the one answered among them; of a slow endpoint also those that wait. @param most half of the
 * lane's slots.
 */
export function capUsedUp(cap: number, { inFlight, most }: { inFlight: number; most: number }): number {
  return inFlight >= Math.floor(cap) ? Math.min(cap + 1, Math.max(most, LEAST_CAP)) : cap
}

export const capAfterTimeout = (cap: number) => Math.max(LEAST_CAP, cap * (1 - SHRINKS_BY))

/** What is not used is not kept: an endpoint that dies takes no more slots than it needed of late. @param peak most under way in a while. */
export const capAfterWhile = (cap: number, peak: number) => Math.max(LEAST_CAP, Math.min(cap, peak * 2))
