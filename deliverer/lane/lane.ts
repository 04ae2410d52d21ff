import type { HostState, WebhookState, Webhooks, WebhookTarget } from '../../delivery/webhooks.ts'
import {
  createHostRoom,
  enter,
  hasBlocked,
  hearInRoom,
  hostAllows,
  hostAllowsProbe,
  hostLimits,
  isAnswering,
  isCrowded,
  isFailingWebhook,
  leave,
  turnRoom,
  unblock,
} from './host-room.ts'
import {
  begun,
  came,
  createLine,
  heard,
  isInTrouble,
  LEAST_CAP,
  satedFor,
  standing,
  turn,
  type WaitsFor,
  waitsFor,
} from './line.ts'
import { createSlots } from './slots.ts'
import type { HostRoom, Job, Line, PassedOver, Refusal, Waiting } from './state.ts'
import { createTurns, createWaitingRoom } from './turns.ts'

/** First attempts and retries run in lanes of their own, so that a recovery with many retries cannot delay a fresh event. */
export type Lane = {
  /** Accepts a POST, or says why not. POSTs to one webhook begin in the order in which they came. */
  offer(target: WebhookTarget, job: Job): Refusal | undefined
  /** So much waits in all that nothing more should come for a moment. */
  isFull(): boolean
  /** Undefined when not enough waits for this webhook yet. */
  pressure(target: WebhookTarget): Pressure | undefined
  /** Lets go of what waits and is not wanted any more. */
  tidy(): void
  /** To be called some times a second: late POSTs give their slots to what waits, and what has waited for long is passed over. */
  look(): void
  count(): { waiting: number; prompt: number; late: number }
  /** How many webhooks have waiting POSTs, by what these wait for. */
  waits(): Record<WaitsFor, number>
}

/**
 * For `restMs` no more deliveries should come for a webhook; if `isFull`, not even the present one. They wait in Kafka
 * and are not deferred, because that would not be faster.
 */
export type Pressure = { restMs: number; isFull: boolean }

export type LaneOptions = {
  /** Budget of POSTs under way. */
  slots: number
  webhooks: Webhooks
  /** Whether this process itself is what limits its speed. */
  isBusy: () => boolean
  /** Milliseconds of a steady clock. */
  now: () => number
}

/** How many POSTs may wait in a lane. It can be up to twice as many, because each webhook may always have a few. */
const ROOM = 4_096
const ROOM_BYTES = 32 * 1024 * 1024
/** What waits for longer is deferred, because the offset of its record holds back the commits of its partition. */
const PATIENCE_MS = 5_000
/** Between two looks no more than that counts as waiting: a process that was stopped has kept nobody waiting by itself. */
const LONGEST_LOOK_MS = 500
/** How many blocked lines of one host are checked at once. A line may have no room while a later one does. */
const MOST_LOOKED_AT = 64

export function createLane({ slots: budget, webhooks, isBusy, now }: LaneOptions): Lane {
  const lines = new WeakMap<WebhookState, Line>()
  const rooms = new WeakMap<HostState, HostRoom>()
  /** Host rooms with blocked lines. */
  const withBlocked = new Set<HostRoom>()
  const limits = hostLimits(budget, { posts: ROOM, bytes: ROOM_BYTES })
  const room = createWaitingRoom()
  const turns = createTurns()
  const slots = createSlots(budget)
  const answers = createRate()
  const most = Math.floor(budget / 2)
  let pumping = false
  /** For how long this lane has been at work. */
  let age = 0
  let lookedAt = now()

  webhooks.onChange(({ host, webhook, breaker }) => {
    if (!breaker.open) return
    const own = webhook && lines.get(webhook)
    const concerned = webhook ? (own ? [own] : []) : room.lines().filter((line) => line.webhook.host === host)
    for (const line of concerned) {
      line.cap = LEAST_CAP
      while (line.queue.length() > 0) room.take(line)?.passOver(refusal(line, 'breaker_open', now()))
    }
  })

  function lineOf(target: WebhookTarget, at: number): Line {
    const webhook = webhooks.of(target, at)
    let line = lines.get(webhook)
    if (!line) {
      line = createLine(webhook, roomOf(webhook.host, at), at)
      lines.set(webhook, line)
    }
    turn(line, at)
    turnRoom(line.room, at)
    return line
  }

  function roomOf(host: HostState, at: number): HostRoom {
    const known = rooms.get(host)
    if (known) return known
    const made = createHostRoom(limits, at, withBlocked)
    rooms.set(host, made)
    return made
  }

  /** Whether a POST may wait here, and as what. */
  function admit(line: Line, at: number): 'queue' | 'probe' | Refusal {
    const may = webhooks.permit(line.webhook, at)
    if (may === 'probe' && slots.isFree('doubtful', at) && hostAllowsProbe(line, at)) return 'probe'
    if (may === 'all' && isFailingWebhook(line, at) && !hostAllows(line, at)) {
      openFor(line, at)
      return refusal(line, 'queue_full', at)
    }
    if (may !== 'all') return refusal(line, 'breaker_open', at)
    return isFullFor(line, at) ? refusal(line, 'queue_full', at) : 'queue'
  }

  function isFullFor(line: Line, at: number): boolean {
    if (isCrowded(line, at)) return true
    return isQueueFull({
      queued: { posts: line.queue.length(), bytes: line.queuedBytes },
      waiting: { posts: room.count(), bytes: room.bytes() },
      room: { posts: ROOM, bytes: ROOM_BYTES },
      perSecond: line.perSecond,
      inTrouble: isInTrouble(line, at),
    })
  }

  function pump(): void {
    if (pumping) return
    pumping = true
    try {
      const at = now()
      const next = () => turns.next((known) => slots.isFree(known, at), at)
      for (let line = next(); line; line = next()) {
        beginNext(line, at)
        turns.add(line, at)
      }
    } finally {
      pumping = false
    }
  }

  /** Lets lines that wait for room at their host take turns again, as long as there is room. */
  function admitBlocked(hostRoom: HostRoom, at: number): void {
    let left = MOST_LOOKED_AT
    for (const line of hostRoom.blocked.known) {
      if (left === 0) break
      left -= 1
      relist(line, at)
    }
    for (const line of hostRoom.blocked.untested) if (!relist(line, at)) break
    if (!hasBlocked(hostRoom)) withBlocked.delete(hostRoom)
  }

  /** @returns whether it no longer waits for room; else it keeps its place. */
  function relist(line: Line, at: number): boolean {
    if (line.queue.length() > 0 && waitsFor(line, at) === 'host') {
      if (!isFailingWebhook(line, at)) return false
      openFor(line, at)
    }
    unblock(line.room, line)
    turns.add(line, at)
    return true
  }

  /** The host has no room for webhooks that fail. From now on this one is probed, as the others are. */
  function openFor(line: Line, at: number): void {
    while (line.queue.length() > 0) room.take(line)?.passOver(refusal(line, 'queue_full', at))
    webhooks.open(line.webhook, at)
  }

  function beginNext(line: Line, at: number): void {
    const known = standing(line)
    const isProbe = line.queue.first()?.isProbe === true
    const job = room.take(line)
    if (!job?.wanted()) {
      job?.drop()
      return
    }
    const slot = slots.take(known, line.room, at)
    const as = enter(line, isProbe, at)
    begun(line, at)
    job.begin({
      connected: () => webhooks.connected(line.webhook.host, now()),
      heard(ended, sent) {
        const endedAt = now()
        if (ended === 'answered') answers.add(endedAt)
        heard(line, { ended, begunAt: at, most }, endedAt)
        hearInRoom(line, { ended, stillUnderWay: line.inFlight > 1 })
        webhooks.heard(line.webhook, ended, { sent, now: endedAt })
      },
      done() {
        if (slot.free) return
        const endedAt = now()
        slots.release(slot)
        line.inFlight -= 1
        leave(line, { as, isIdle: line.inFlight === 0 })
        if (hasBlocked(line.room)) admitBlocked(line.room, endedAt)
        turns.add(line, endedAt)
        pump()
      },
    })
  }

  /** Those that wait first have waited for longest. */
  function putOff(at: number): void {
    const isOver = (first: Waiting | undefined) => first !== undefined && age - first.since > PATIENCE_MS
    for (const line of room.lines())
      while (isOver(line.queue.first())) room.take(line)?.passOver(refusal(line, 'queue_full', at))
  }

  return {
    offer(target, job) {
      const at = now()
      const line = lineOf(target, at)
      const admitted = admit(line, at)
      if (typeof admitted === 'object') return admitted
      if (admitted === 'probe') webhooks.probed(line.webhook, at)
      room.put(line, { job, since: age, isProbe: admitted === 'probe', isUnproven: !isAnswering(line, at) })
      came(line, most, at)
      turns.add(line, at)
      pump()
      return undefined
    },
    isFull: () => room.count() >= ROOM * 2 || room.bytes() >= ROOM_BYTES,
    pressure(target) {
      if (room.count() < most) return undefined
      const at = now()
      const line = lineOf(target, at)
      const restMs = satedFor(line, { perSecond: answers.lately(at), isBusy: isBusy() }, at)
      return restMs > 0 ? { restMs, isFull: isFullFor(line, at) } : undefined
    },
    tidy() {
      for (const line of room.lines())
        for (let left = line.queue.length(); left > 0; left--) {
          const first = line.queue.first()
          const job = room.take(line)
          if (first && job?.wanted()) room.put(line, first)
          else job?.drop()
        }
    },
    look() {
      const at = now()
      age += Math.min(at - lookedAt, LONGEST_LOOK_MS)
      lookedAt = at
      for (const hostRoom of withBlocked) admitBlocked(hostRoom, at)
      pump()
      putOff(at)
    },
    count: () => ({ waiting: room.count(), ...slots.count() }),
    waits() {
      const waits = { answer: 0, cap: 0, host: 0, slot: 0 }
      const at = now()
      for (const line of room.lines()) waits[waitsFor(line, at)] += 1
      return waits
    },
  }
}

function refusal({ webhook, perSecond, queue }: Line, code: PassedOver, now: number): Refusal {
  const { breaker, host, behind } = webhook
  if (code === 'breaker_open') {
    const { failingSince = now } = host.breaker.open ? host.breaker : breaker
    return { code, waitMs: (now - failingSince) / 2 }
  }
  return { code, waitMs: ((behind + queue.length()) * 1_000) / Math.max(1, perSecond) }
}

/** Each endpoint that is not in trouble may always have so many waiting. */
const LEAST = 16

export type QueueFacts = {
  /** What waits for this endpoint. */
  queued: { posts: number; bytes: number }
  /** What waits in the lane, all endpoints together, and how much of it may. */
  waiting: { posts: number; bytes: number }
  room: { posts: number; bytes: number }
  /** Answers of this endpoint of late. */
  perSecond: number
  /** Nothing of it has answered for a second. */
  inTrouble: boolean
}

/** Whether as much waits for an endpoint as may, by their number or by their bytes, of which each has one POST's at least. */
export function isQueueFull(facts: QueueFacts): boolean {
  const { queued, waiting, room } = facts
  return queued.posts >= queueLimit(facts) || (queued.bytes > 0 && queued.bytes >= room.bytes - waiting.bytes)
}

/**
 * How many POSTs may wait for one endpoint: as many as there is room left in the lane, so that a single one gets half of it,
 * two get a third each, and there is always some for others (dynamic thresholds, as switches share their buffers by); and at
 * any time what the endpoint has lately answered in a quarter of a second. For one in trouble a single one waits.
 */
function queueLimit({ room, waiting, perSecond, inTrouble }: QueueFacts): number {
  if (inTrouble) return waiting.posts < room.posts ? 1 : 0
  return Math.max(LEAST, room.posts - waiting.posts, perSecond / 4)
}

export type Rate = {
  add(now: number): void
  /** A second, of late. */
  lately(now: number): number
}

const WHILE_MS = 1_000

/** How often something happens: the last whole second, or what there has been of this one if that is more. */
export function createRate(): Rate {
  let from = 0
  let count = 0
  let before = 0

  function turn(now: number): void {
    if (now - from < WHILE_MS) return
    before = (count * 1_000) / (now - from)
    count = 0
    from = now
  }

  return {
    add(now) {
      turn(now)
      count += 1
    },
    lately(now) {
      turn(now)
      return Math.max(before, (count * 1_000) / Math.max(now - from, WHILE_MS / 4))
    },
  }
}
