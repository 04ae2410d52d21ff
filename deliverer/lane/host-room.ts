import type { Ended } from '../webhook/breaker.ts'
import type { Line } from './line.ts'
import { createPace, type Pace } from './pace.ts'

/**
 * What one lane has under way for all webhooks of one host. Each webhook has limits of its own; this bounds them together, so
 * that a host with a thousand hanging webhooks takes no more of the lane than one webhook may (docs/decisions/009).
 */
export type HostRoom = {
  /** Webhooks with POSTs under way, of which nothing has been heard since `Line.heardAt`; those in doubt left out. */
  readonly unheard: Set<Line>
  /** Of these, the ones that were let in because they are trusted. */
  readonly trusted: Set<Line>
  /** How many others may be unheard at once: grows and shrinks like the cap of a single webhook. */
  cap: number
  /** Most of these others in this while. */
  peak: number
  whileFrom: number
  /** POSTs under way to webhooks in doubt. */
  doubtful: number
  /** Lines that wait because the room is full. */
  readonly blocked: Set<Line>
  /** The lane's rooms with blocked lines. */
  readonly withBlocked: Set<HostRoom>
  readonly trials: Pace
  /** For webhooks in doubt. */
  readonly retrials: Pace
  readonly limits: HostLimits
}

/** `least`, `most`: bounds of the cap. `trusted`: see `isTrusted`. `doubtful`: POSTs to webhooks in doubt. */
export type HostLimits = { least: number; most: number; trusted: number; doubtful: number }

/** Parts of a lane's slots. */
export const hostLimits = (slots: number): HostLimits => ({
  least: Math.max(4, Math.floor(slots / 32)),
  most: Math.max(4, Math.floor(slots / 2)),
  trusted: Math.max(4, Math.floor(slots / 8)),
  doubtful: Math.max(2, Math.floor(slots / 16)),
})

/** A webhook that is not known to answer gets its chance though others of its host hang. */
const TRIALS = { perMs: 20 / 1_000, atOnce: 2 }
const SHRINKS_TO = 7 / 8
const SILENT_MS = 1_000
const WHILE_MS = 1_000

export const createHostRoom = (
  limits: HostLimits,
  now: number,
  withBlocked = new Set<HostRoom>(),
): HostRoom => ({
  unheard: new Set(),
  trusted: new Set(),
  cap: limits.least,
  peak: 0,
  whileFrom: now,
  doubtful: 0,
  blocked: new Set(),
  withBlocked,
  trials: createPace(TRIALS),
  retrials: createPace(TRIALS),
  limits,
})

const untested = ({ unheard, trusted }: HostRoom) => unheard.size - trusted.size
const isFull = (room: HostRoom) => untested(room) >= Math.floor(room.cap)

/** The host goes on answering this webhook: it has answered since the longest unheard one began. */
const isProven = ({ room, answeredAt }: Line) => answeredAt > unheardSince(room)

function unheardSince({ unheard }: HostRoom): number {
  let since = Number.POSITIVE_INFINITY
  for (const { heardAt } of unheard) since = Math.min(since, heardAt)
  return since
}

/** Its last POST was answered. That is no proof: all of a host's webhooks may have begun to hang at once. */
function isTrusted(line: Line): boolean {
  const { room, webhook, answeredAt } = line
  const hasAnswered = answeredAt > Number.NEGATIVE_INFINITY && webhook.breaker.failingSince === undefined
  return hasAnswered && !room.unheard.has(line) && room.trusted.size < room.limits.trusted
}

/** Whether the room lets a webhook begin a POST: one in doubt, or any other. */
export function hostAllows(line: Line, isDoubtful: boolean, now: number): boolean {
  const { room } = line
  if (isDoubtful) return room.doubtful < room.limits.doubtful || room.retrials.allows(now)
  return !isFull(room) || isProven(line) || isTrusted(line) || room.trials.allows(now)
}

/** The line waits for room at its host. */
export function block(line: Line): void {
  line.room.blocked.add(line)
  line.room.withBlocked.add(line.room)
}

/** Full for a second of webhooks that say nothing, and this one is not known to answer. */
export function isHeldByHost(line: Line, now: number): boolean {
  if (!isFull(line.room) || isProven(line) || isTrusted(line)) return false
  return now - unheardSince(line.room) > SILENT_MS
}

/** A POST begins. @param isDoubtful whether its webhook is in doubt. */
export function enter(line: Line, isDoubtful: boolean): void {
  const { room } = line
  if (isDoubtful) {
    if (room.doubtful >= room.limits.doubtful) room.retrials.begun()
    room.doubtful += 1
    return
  }
  if (isFull(room) && !isProven(line)) {
    if (isTrusted(line)) room.trusted.add(line)
    else room.trials.begun()
  }
  room.unheard.add(line)
  room.peak = Math.max(room.peak, untested(room))
}

/** `stillUnderWay`: other POSTs of the same webhook are. */
type Heard = { ended: Ended; stillUnderWay: boolean }

/** One of its POSTs has ended. */
export function hearInRoom(line: Line, { ended, stillUnderWay }: Heard): void {
  const { room } = line
  if (!room.unheard.has(line)) return
  if (ended === 'timed_out') room.cap = Math.max(room.limits.least, room.cap * SHRINKS_TO)
  else if (isFull(room)) room.cap = Math.min(room.cap + 1, room.limits.most)
  if (!stillUnderWay) forget(line)
}

/** The connection of one of its POSTs is free. @param isIdle none of its POSTs is under way any more. */
export function leave(line: Line, { isDoubtful, isIdle }: { isDoubtful: boolean; isIdle: boolean }): void {
  if (isDoubtful) line.room.doubtful -= 1
  if (isIdle) forget(line)
}

function forget(line: Line): void {
  line.room.unheard.delete(line)
  line.room.trusted.delete(line)
}

/** Once in a while: what was not used is not kept. */
export function turnRoom(room: HostRoom, now: number): void {
  if (now - room.whileFrom < WHILE_MS) return
  room.cap = Math.max(room.limits.least, Math.min(room.cap, room.peak * 2))
  room.peak = untested(room)
  room.whileFrom = now
}
