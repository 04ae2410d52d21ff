import { afterProbe, permit } from '../endpoint/breaker.ts'
import type { Endpoint, Endpoints } from '../endpoint/endpoints.ts'
import { LEAST_CAP } from './cap.ts'
import type { Job, PassedOver, Refusal } from './job.ts'
import { begun, createLine, heard, isDoubtful, type Line, satedFor, turn } from './line.ts'
import { queueLimit } from './queue-limit.ts'
import { createSlots } from './slots.ts'
import { createTurns } from './turns.ts'

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
  /** To be called some times a second: late POSTs give their slots to what waits. */
  look(): void
  count(): { waiting: number; prompt: number; late: number }
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
  /** Whether this process is what limits the speed: see `Load`. */
  isBusy: () => boolean
  /** Milliseconds of a steady clock. */
  now: () => number
}

/** What may wait in a lane, all endpoints together; up to twice as much, as each of them may have its least. */
const ROOM = 4_096
/** Of the budget so much may be out to endpoints in doubt, however many of them there are. */
const DOUBTFUL = 1 / 4

export function createLane({ slots: budget, endpoints, isBusy, now }: LaneOptions): Lane {
  const lines = new WeakMap<Endpoint, Line>()
  const queued = new Set<Line>()
  const turns = createTurns(Math.max(1, Math.floor(budget * DOUBTFUL)))
  const slots = createSlots(budget)
  const most = Math.floor(budget / 2)
  let waiting = 0
  let pumping = false

  endpoints.onTurned((endpoint) => {
    const line = lines.get(endpoint)
    if (!line || !endpoint.breaker.open) return
    line.cap = LEAST_CAP
    while (line.queue.length() > 0) taken(line)?.passOver(refusal(line, 'breaker_open', now()))
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
    if (may === 'probe' && turns.hasDoubt()) return 'probe'
    if (may !== 'all') return refusal(line, 'breaker_open', at)
    return isQueueFull(line) ? refusal(line, 'queue_full', at) : 'queue'
  }

  const isQueueFull = ({ queue, perSecond }: Line) =>
    queue.length() >= queueLimit({ room: ROOM, waiting, perSecond })

  function taken(line: Line): Job | undefined {
    const job = line.queue.take()
    waiting -= 1
    if (line.queue.length() === 0) queued.delete(line)
    return job
  }

  function pump(): void {
    if (pumping) return
    pumping = true
    try {
      const at = now()
      while (slots.isFree(at)) {
        const line = turns.next(at)
        if (!line) return
        beginNext(line, at)
        turns.add(line, at)
      }
    } finally {
      pumping = false
    }
  }

  function beginNext(line: Line, at: number): void {
    const doubt = isDoubtful(line)
    const job = taken(line)
    if (!job?.wanted()) {
      job?.drop()
      return
    }
    const slot = slots.take(at)
    if (doubt) turns.doubt(1)
    begun(line, at)
    job.begin({
      heard(ended) {
        if (heard(line, { ended, most }, now())) endpoints.turned(line.endpoint)
      },
      done() {
        slots.release(slot)
        line.inFlight -= 1
        if (doubt) turns.doubt(-1)
        turns.add(line, now())
        pump()
      },
    })
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
      line.queue.push(job)
      waiting += 1
      queued.add(line)
      turns.add(line, at)
      pump()
      return undefined
    },
    isFull: () => waiting >= ROOM * 2,
    pressure(origin) {
      if (waiting < most) return undefined
      const at = now()
      const line = lineOf(origin, at)
      const restMs = satedFor(line, isBusy(), at)
      return restMs > 0 ? { restMs, isFull: isQueueFull(line) } : undefined
    },
    tidy() {
      for (const line of [...queued])
        for (let left = line.queue.length(); left > 0; left--) {
          const job = taken(line)
          if (job?.wanted()) keep(line, job)
          else job?.drop()
        }
    },
    look: pump,
    count: () => ({ waiting, ...slots.count() }),
  }

  function keep(line: Line, job: Job): void {
    line.queue.push(job)
    waiting += 1
    queued.add(line)
  }
}

function refusal({ endpoint, perSecond, queue }: Line, code: PassedOver, now: number): Refusal {
  const { breaker, behind } = endpoint
  if (code === 'breaker_open') return { code, waitMs: (now - (breaker.failingSince ?? now)) / 2 }
  return { code, waitMs: ((behind + queue.length()) * 1_000) / Math.max(1, perSecond) }
}
