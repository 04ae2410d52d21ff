import { afterProbe, permit } from '../endpoint/breaker.ts'
import type { Endpoint, Endpoints } from '../endpoint/endpoints.ts'
import { LEAST_CAP } from './cap.ts'
import type { Job, PassedOver, Refusal, Waiting } from './job.ts'
import {
  begun,
  came,
  createLine,
  heard,
  isInTrouble,
  type Line,
  satedFor,
  standing,
  turn,
  type WaitsFor,
  waitsFor,
} from './line.ts'
import { isQueueFull } from './queue-limit.ts'
import { createRate } from './rate.ts'
import { createSlots } from './slots.ts'
import { createTurns } from './turns.ts'
import { createWaitingRoom } from './waiting.ts'

/** First attempts and retries run in lanes of their own, so that a recovery with many retries cannot delay a fresh event. */
export type Lane = {
  /** Takes a POST over, to begin those to one origin in the order in which they came; or says why not. */
  offer(origin: string, job: Job): Refusal | undefined
  /** So much waits in all that nothing more should come for a moment. */
  isFull(): boolean
  /** Undefined when less waits for this origin than is enough. */
  pressure(origin: string): Pressure | undefined
  /** Lets go of what waits and is not wanted any more. */
  tidy(): void
  /** To be called some times a second: late POSTs give their slots to what waits, and what has waited for long is passed over. */
  look(): void
  count(): { waiting: number; prompt: number; late: number }
  /** Endpoints that POSTs wait for, by what these wait for. */
  waits(): Record<WaitsFor, number>
}

/**
 * No more should come for an origin for so many milliseconds; when it `isFull` not even what is there. It need not be put
 * off: that would not be faster than to wait.
 */
export type Pressure = { restMs: number; isFull: boolean }

export type LaneOptions = {
  /** Budget of POSTs under way. */
  slots: number
  endpoints: Endpoints
  /** Whether this process itself is what limits its speed. */
  isBusy: () => boolean
  /** Milliseconds of a steady clock. */
  now: () => number
}

/** POSTs that may wait in a lane, all endpoints together; up to twice as many, as each of them may have its least. */
const ROOM = 4_096
const ROOM_BYTES = 32 * 1024 * 1024
/** What waits for longer is put off: the offset of its record holds back the commits of its partition. */
const PATIENCE_MS = 5_000
/** Between two looks no more than that counts as waiting: a process that was stopped has kept nobody waiting by itself. */
const LONGEST_LOOK_MS = 500

export function createLane({ slots: budget, endpoints, isBusy, now }: LaneOptions): Lane {
  const lines = new WeakMap<Endpoint, Line>()
  const room = createWaitingRoom()
  const turns = createTurns()
  const slots = createSlots(budget)
  const answers = createRate()
  const most = Math.floor(budget / 2)
  let pumping = false
  /** For how long this lane has been at work. */
  let age = 0
  let lookedAt = now()

  endpoints.onTurned((endpoint) => {
    const line = lines.get(endpoint)
    if (!line || !endpoint.breaker.open) return
    line.cap = LEAST_CAP
    while (line.queue.length() > 0) room.take(line)?.passOver(refusal(line, 'breaker_open', now()))
  })

  function lineOf(origin: string, at: number): Line {
    const endpoint = endpoints.of(origin, at)
    const line = lines.get(endpoint) ?? createLine(endpoint, at)
    lines.set(endpoint, line)
    turn(line, at)
    return line
  }

  /** Whether a POST may wait here, and as what. */
  function admit(line: Line, at: number): 'queue' | 'probe' | Refusal {
    const may = permit(line.endpoint.breaker, at)
    if (may === 'probe' && slots.isFree('doubtful', at)) return 'probe'
    if (may !== 'all') return refusal(line, 'breaker_open', at)
    return isFullFor(line, at) ? refusal(line, 'queue_full', at) : 'queue'
  }

  function isFullFor(line: Line, at: number): boolean {
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

  function beginNext(line: Line, at: number): void {
    const known = standing(line)
    const job = room.take(line)
    if (!job?.wanted()) {
      line.probing = false
      job?.drop()
      return
    }
    const slot = slots.take(known, at)
    begun(line, at)
    job.begin({
      heard(ended) {
        if (ended === 'answered') answers.add(now())
        if (heard(line, { ended, begunAt: at, most }, now())) endpoints.turned(line.endpoint)
      },
      done() {
        slots.release(slot)
        line.inFlight -= 1
        turns.add(line, now())
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
    offer(origin, job) {
      const at = now()
      const line = lineOf(origin, at)
      const admitted = admit(line, at)
      if (typeof admitted === 'object') return admitted
      if (admitted === 'probe') {
        line.probing = true
        line.endpoint.breaker = afterProbe(line.endpoint.breaker, at)
      }
      room.put(line, { job, since: age })
      came(line, most, at)
      turns.add(line, at)
      pump()
      return undefined
    },
    isFull: () => room.count() >= ROOM * 2 || room.bytes() >= ROOM_BYTES,
    pressure(origin) {
      if (room.count() < most) return undefined
      const at = now()
      const line = lineOf(origin, at)
      const restMs = satedFor(line, { perSecond: answers.lately(at), isBusy: isBusy() }, at)
      return restMs > 0 ? { restMs, isFull: isFullFor(line, at) } : undefined
    },
    tidy() {
      for (const line of room.lines())
        for (let left = line.queue.length(); left > 0; left--) {
          const since = line.queue.first()?.since ?? age
          const job = room.take(line)
          if (job?.wanted()) room.put(line, { job, since })
          else job?.drop()
        }
    },
    look() {
      const at = now()
      age += Math.min(at - lookedAt, LONGEST_LOOK_MS)
      lookedAt = at
      pump()
      putOff(at)
    },
    count: () => ({ waiting: room.count(), ...slots.count() }),
    waits() {
      const waits = { answer: 0, cap: 0, slot: 0 }
      const at = now()
      for (const line of room.lines()) waits[waitsFor(line, at)] += 1
      return waits
    },
  }
}

function refusal({ endpoint, perSecond, queue }: Line, code: PassedOver, now: number): Refusal {
  const { breaker, behind } = endpoint
  if (code === 'breaker_open') return { code, waitMs: (now - (breaker.failingSince ?? now)) / 2 }
  return { code, waitMs: ((behind + queue.length()) * 1_000) / Math.max(1, perSecond) }
}
