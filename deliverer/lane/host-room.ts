import type { Ended } from '../../delivery/breaker.ts'
import { hasAnsweredLately } from '../../delivery/webhooks.ts'
import { createPace } from './pace.ts'
import type { HostLimits, HostRoom, Line } from './state.ts'

/** @param slots of the lane. @param room how much may wait in the lane. */
export const hostLimits = (slots: number, room: { posts: number; bytes: number }): HostLimits => ({
  least: Math.max(4, Math.floor(slots / 32)),
  most: Math.max(4, Math.floor(slots / 2)),
  reserve: Math.max(2, Math.floor(slots / 8)),
  trusted: Math.max(4, Math.floor(slots / 8)),
  failing: Math.max(2, Math.floor(slots / 16)),
  waiting: room.posts / 4,
  waitingBytes: room.bytes / 4,
})

/** New webhooks get a chance even while others of their host hang. */
const TRIALS = { perMs: 20 / 1_000, atOnce: 2 }
/** A little more than the webhooks of one host ask for together (webhooks.ts). */
const PROBES = { perMs: 40 / 1_000, atOnce: 8 }
const SHRINKS_TO = 7 / 8
const SILENT_MS = 1_000
const WHILE_MS = 1_000
const TWO_TIME_OUTS = 0b11

export const createHostRoom = (
  limits: HostLimits,
  now: number,
  withBlocked = new Set<HostRoom>(),
): HostRoom => ({
  prompt: 0,
  unproven: 0,
  failing: 0,
  waiting: 0,
  waitingBytes: 0,
  unheard: new Set(),
  trusted: new Set(),
  cap: limits.least,
  peak: 0,
  whileFrom: now,
  blocked: { known: new Set(), untested: new Set() },
  withBlocked,
  trials: createPace(TRIALS),
  probes: createPace(PROBES),
  limits,
})

/** The webhook fails more than now and then: it has never answered, not answered lately, or timed out twice in a row. */
export function isFailingWebhook(line: Line, now: number): boolean {
  const { failingSince, inRow, timedOut } = line.webhook.breaker
  if (failingSince === undefined) return false
  if (!hasAnswered(line) || (timedOut & TWO_TIME_OUTS) === TWO_TIME_OUTS) return true
  return inRow > 1 && !hasAnsweredLately(line.webhook, now)
}

const hasAnswered = ({ webhook }: Line) => webhook.answeredAt > Number.NEGATIVE_INFINITY
/** It has just answered, so the silence of others on its host says nothing about it. */
export const isAnswering = ({ webhook }: Line, now: number) => now - webhook.answeredAt <= SILENT_MS

/** It answers while others are silent: it has answered since the longest silent one was heard from. */
const isUnharmed = (line: Line, now: number) =>
  isAnswering(line, now) && line.webhook.answeredAt > unheardSince(line.room)

function unheardSince({ unheard }: HostRoom): number {
  let since = Number.POSITIVE_INFINITY
  for (const { heardAt } of unheard) since = Math.min(since, heardAt)
  return since
}

const untested = ({ unheard, trusted }: HostRoom) => unheard.size - trusted.size
const isFull = (room: HostRoom) => untested(room) >= Math.floor(room.cap)

/** Whether the host has room for a webhook to begin a POST that is no probe. */
export function hostAllows(line: Line, now: number): boolean {
  const { room } = line
  const { limits } = room
  const isFailing = isFailingWebhook(line, now)
  if (room.prompt >= limits.most) return !isFailing && isAllowedReserve(line, now)
  if (isFailing) return room.failing < limits.failing
  if (isAnswering(line, now)) return true
  const hasRoom = room.unproven < limits.most
  return (hasRoom && !isFull(room)) || isTrusted(line) || (hasRoom && room.trials.allows(now))
}

/**
 * The reserve is for webhooks that keep answering while others hang. Half of it is also for those that have nothing under way beside
 * busy ones.
 */
function isAllowedReserve(line: Line, now: number): boolean {
  const { prompt, limits, trials } = line.room
  const used = prompt - limits.most
  if (isUnharmed(line, now)) return used < limits.reserve
  if (line.inFlight > 0 || used >= limits.reserve / 2) return false
  return isAnswering(line, now) || isTrusted(line) || trials.allows(now)
}

/** It has answered before. But all webhooks of a host may begin to hang at once, so it gets one POST at a time. */
function isTrusted(line: Line): boolean {
  const { trusted, unheard, limits } = line.room
  return hasAnswered(line) && !unheard.has(line) && trusted.size < limits.trusted
}

/** Whether a webhook whose breaker is open may be probed. */
export const hostAllowsProbe = ({ room }: Line, now: number) =>
  room.unproven < room.limits.most && (room.failing < room.limits.failing || room.probes.allows(now))

/** The line waits for room at its host. */
export function block(line: Line): void {
  const { blocked, withBlocked } = line.room
  blocked[hasAnswered(line) ? 'known' : 'untested'].add(line)
  withBlocked.add(line.room)
}

export function unblock({ blocked }: HostRoom, line: Line): void {
  blocked.known.delete(line)
  blocked.untested.delete(line)
}

export const hasBlocked = ({ blocked }: HostRoom) => blocked.known.size + blocked.untested.size > 0

/** The room has been full of silent webhooks for a second, and this webhook has never answered. */
export function isHeldByHost(line: Line, now: number): boolean {
  if (hasAnswered(line) || !isFull(line.room)) return false
  return now - unheardSince(line.room) > SILENT_MS
}

/** As much waits for the host as is allowed, and this webhook has not answered within the last second. */
export function isCrowded(line: Line, now: number): boolean {
  const { waiting, waitingBytes, limits } = line.room
  if (isAnswering(line, now)) return false
  // the first POST of a webhook has twice the room: others may have all of it
  const most = line.queue.length() === 0 ? limits.waiting * 2 : limits.waiting
  return waiting >= most || waitingBytes >= limits.waitingBytes
}

/** As what a POST was let in. `answering`: its webhook had just answered. */
export type EnteredAs = 'answering' | 'unproven' | 'failing'

/** A POST begins. @returns what `leave` is to be told. */
export function enter(line: Line, isProbe: boolean, now: number): EnteredAs {
  const { room } = line
  if (isProbe && room.failing >= room.limits.failing) room.probes.begun()
  if (isProbe || isFailingWebhook(line, now)) {
    room.failing += 1
    room.unproven += 1
    return 'failing'
  }
  const isProven = isAnswering(line, now)
  const isBeyond = isFull(room) || room.unproven >= room.limits.most || room.prompt >= room.limits.most
  if (!isProven && isBeyond) {
    if (isTrusted(line)) room.trusted.add(line)
    else room.trials.begun()
  }
  if (!isProven) room.unproven += 1
  room.unheard.add(line)
  room.peak = Math.max(room.peak, untested(room))
  return isProven ? 'answering' : 'unproven'
}

/** `stillUnderWay`: other POSTs of the same webhook are under way. */
type Heard = { ended: Ended; stillUnderWay: boolean }

/** One of the line's POSTs has ended. */
export function hearInRoom(line: Line, { ended, stillUnderWay }: Heard): void {
  const { room } = line
  if (!room.unheard.has(line)) return
  if (ended === 'timed_out') room.cap = Math.max(room.limits.least, room.cap * SHRINKS_TO)
  else if (ended === 'answered' && isFull(room)) room.cap = Math.min(room.cap + 1, room.limits.most)
  if (!stillUnderWay) forget(line)
}

/** The connection of one of the line's POSTs is free. @param isIdle none of its POSTs is under way any more. */
export function leave(line: Line, { as, isIdle }: { as: EnteredAs; isIdle: boolean }): void {
  if (as !== 'answering') line.room.unproven -= 1
  if (as === 'failing') line.room.failing -= 1
  if (isIdle) forget(line)
}

function forget(line: Line): void {
  line.room.unheard.delete(line)
  line.room.trusted.delete(line)
}

/** Once a second, gives up the part of the cap that was not used. */
export function turnRoom(room: HostRoom, now: number): void {
  if (now - room.whileFrom < WHILE_MS) return
  room.cap = Math.max(room.limits.least, Math.min(room.cap, room.peak * 2))
  room.peak = untested(room)
  room.whileFrom = now
}
