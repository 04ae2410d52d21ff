import { createLane, type Lane } from '../../../deliverer/lane/lane.ts'
import type { DeferCode, Job, Refusal } from '../../../deliverer/lane/state.ts'
import { createWebhooks } from '../../../delivery/webhooks.ts'
import { createPausingClock } from '../../../process/pausing-clock.ts'

export type Behaviour = { answersAfter: number } | { failsAfter: number } | 'hangs' | 'refuses'

export type Sent = {
  origin: string
  at: number
  begunAt?: number
  /** How the POST ended, or why there was none. */
  end?: 'answered' | 'failed' | 'timed_out' | 'dropped' | DeferCode
  /** Of a deferral: the longest useful wait, in ms. */
  waitMs?: number
}

/** The default RESPONSE_TIMEOUT, and the longest. */
export const [LIMIT_MS, LONGEST_MS] = [5_000, 60_000]
const TICK_MS = 50

/** The test moves the clock and controls the receivers. `limitMs`: RESPONSE_TIMEOUT. */
export function simulate({ slots = 512, isBusy = (): boolean => false, limitMs = LIMIT_MS } = {}) {
  let clock = 0
  const coming = new Map<number, (() => void)[]>()
  const now = () => clock
  const lanesNow = createPausingClock(now)
  const webhooks = createWebhooks()
  const lanes: Lane[] = []
  const lane = () => {
    const made = createLane({ slots, webhooks, isBusy, now: lanesNow })
    lanes.push(made)
    return made
  }
  const first = lane()
  const behaviours = new Map<string, Behaviour>()
  const inFlight = new Map<string, number>()
  const sent: Sent[] = []
  let total = 0
  let mostInFlight = 0

  function later(ms: number, act: () => void): void {
    const time = clock + Math.max(1, ms)
    const others = coming.get(time)
    if (others) others.push(act)
    else coming.set(time, [act])
  }

  function pass(ms: number): void {
    for (const until = clock + ms; clock < until; ) {
      clock += 1
      for (const act of coming.get(clock) ?? []) act()
      coming.delete(clock)
      if (clock % TICK_MS === 0) for (const lane of lanes) lane.tick()
    }
  }

  function count(origin: string, change: 1 | -1): void {
    total += change
    mostInFlight = Math.max(mostInFlight, total)
    inFlight.set(origin, (inFlight.get(origin) ?? 0) + change)
  }

  function jobOf(one: Sent, { isNeeded, bytes }: Pick<Job, 'isNeeded' | 'bytes'>): Job {
    const { origin } = one
    return {
      isNeeded,
      bytes,
      drop: () => end(one, 'dropped'),
      defer: (refusal) => deferred(one, refusal),
      begin(lease) {
        one.begunAt = now()
        count(origin, 1)
        const [ended, after] = endingOf(behaviours.get(origin) ?? { answersAfter: 5 }, limitMs)
        later(after, () => {
          count(origin, -1)
          end(one, ended)
          lease.ended(ended, behaviours.get(origin) !== 'refuses')
          lease.release()
        })
      },
    }
  }

  return {
    lane: first,
    anotherLane: lane,
    webhooks,
    sent,
    inFlight: (origin: string) => inFlight.get(origin) ?? 0,
    mostInFlight: () => mostInFlight,
    become(origin: string, behaviour: Behaviour): void {
      behaviours.set(origin, behaviour)
    },
    send(origin: string, { to = first, isNeeded = (): boolean => true, bytes = 1_000 } = {}): Sent {
      const one: Sent = { origin, at: now() }
      sent.push(one)
      const refusal = to.offer(targetOf(origin), jobOf(one, { isNeeded, bytes }))
      if (refusal) deferred(one, refusal)
      return one
    },
    pass,
    /** Timers fire and answers arrive when the process continues. */
    stop(ms: number): void {
      const held = [...coming].map(([time, acts]) => [time + ms, acts] as const)
      coming.clear()
      for (const [time, acts] of held) coming.set(time, acts)
      clock += ms
    },
    now,
  }
}

function deferred(one: Sent, { code, waitMs }: Refusal): void {
  one.waitMs = waitMs
  end(one, code)
}

function end(one: Sent, how: Sent['end']): void {
  if (one.end !== undefined) throw new Error(`${one.origin} has ended twice: ${one.end}, ${how}`)
  if (how !== undefined) one.end = how
}

function endingOf(behaviour: Behaviour, limitMs: number): ['answered' | 'failed' | 'timed_out', number] {
  // nothing listens: the host's fault
  if (behaviour === 'refuses') return ['failed', 1]
  if (behaviour === 'hangs') return ['timed_out', limitMs]
  if ('failsAfter' in behaviour) return ['failed', behaviour.failsAfter]
  return behaviour.answersAfter > limitMs ? ['timed_out', limitMs] : ['answered', behaviour.answersAfter]
}

/** Sends at a steady rate, to one origin after the other. */
export function sendFor(
  world: ReturnType<typeof simulate>,
  { ms, perSecond, origins }: { ms: number; perSecond: number; origins: readonly string[] },
): Sent[] {
  const from = world.sent.length
  let made = 0
  for (let passed = 0; passed < ms; passed++) {
    for (; made < ((passed + 1) * perSecond) / 1_000; made++) world.send(origins[made % origins.length] ?? '')
    world.pass(1)
  }
  return world.sent.slice(from)
}

/** `http://host/path` is a webhook of `http://host`. */
export const targetOf = (url: string) => ({ webhook: `d 0 ${url}`, origin: new URL(url).origin })

export const originsOf = (count: number) => Array.from({ length: count }, (_, index) => `http://r${index}`)
