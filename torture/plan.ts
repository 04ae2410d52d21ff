import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { Role } from '../settings/config-key.ts'

/**
 * What an endpoint does, in this order: answers at once; answers 503; never answers; answers after 7 s, when nobody
 * waits any more; resets the connection; refuses it; answers with a body that never ends; rejects now and then (404,
 * 410 or 301); answers with endless chunk extensions; sends endless 1xx; answers twice, the second time without a
 * request.
 */
const BEHAVIOURS = [
  ...(['answers', 'failing', 'silent', 'late', 'reset', 'refusing', 'drip'] as const),
  ...(['rejecting', 'extensions', 'informational', 'unsolicited'] as const),
] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

export type Fault =
  | { kind: 'kill' | 'end'; role: Role }
  | { kind: 'freeze'; role: Role; forMs: number }
  /** A further instance, for a while: partitions change hands when it comes and when it goes. */
  | { kind: 'another'; role: Role; forMs: number; goes: 'kill' | 'end' }
  | { kind: 'kill-broker'; forMs: number }
  | { kind: 'freeze-broker'; forMs: number }
  /** What was written to the topic in that time is gone with the power. */
  | { kind: 'cut-power'; topic: CutTopic; forMs: number }
  /** The wall clock of a role's machine, so many seconds from the right time from then on; a further instance has one that is right. */
  | { kind: 'step-clock'; role: Role; seconds: number }
  | { kind: 'settings'; change: 'off' | 'on' | 'remove' | 'create' | 'move' }
  | { kind: 'endpoint'; endpoint: number; behaviour: Behaviour }

/** `retries`: the rungs, and what is due. */
const CUT = ['events', 'deliveries', 'retries'] as const
export type CutTopic = (typeof CUT)[number]

/** `at`: ms after the beginning. */
export type Planned = { at: number; fault: Fault }

export type PlanOptions = {
  seed: number
  forMs: number
  endpoints: number
  /** Whether clocks can be stepped. The other faults of a seed are the same with and without. */
  clocks: boolean
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const ROLES: readonly Role[] = ['ingest', 'router', 'deliverer', 'control']

/** Seconds: as long as retries wait, and longer than anything does in a run. */
const STEPS = [
  { least: 1, most: 30 },
  { least: 60, most: 600 },
] as const
/** All clocks are right so long before the end. */
const RIGHT_MS = 5 * SECOND

/**
 * The same faults for the same seed. Those of processes and of the broker follow one another with 2 to 10 s between, endpoints change beside them; the broker is
 * away for a minute in every tenth minute, else for seconds.
 */
export function plan({ seed, forMs, endpoints, clocks }: PlanOptions): Planned[] {
  const generator = xoroshiro128plus(seed)
  const between = (from: number, to: number) => uniformInt(generator, from, to)
  const oneOf = <T>(choices: readonly [T, ...T[]] | readonly T[]): T =>
    choices[between(0, choices.length - 1)] as T
  const planned: Planned[] = []

  let awayAt = 2 * MINUTE + between(0, 60) * SECOND
  for (let at = 5 * SECOND; at < forMs; at += between(2, 10) * SECOND) {
    const isAway = at >= awayAt && at + MINUTE < forMs
    const fault: Fault = isAway ? { kind: 'kill-broker', forMs: MINUTE } : oneFault()
    if (isAway) awayAt += 10 * MINUTE
    planned.push({ at, fault })
    at += lengthOf(fault)
  }
  for (let at = 3 * SECOND; at < forMs; at += between(1, 8) * SECOND) {
    const fault = {
      kind: 'endpoint',
      endpoint: between(0, endpoints - 1),
      behaviour: oneOf(BEHAVIOURS),
    } as const
    planned.push({ at, fault })
  }
  if (clocks) planned.push(...steps(seed, forMs))
  return planned.toSorted((one, other) => one.at - other.at)

  function oneFault(): Fault {
    const role = oneOf(ROLES)
    switch (between(0, 10)) {
      case 0:
      case 1:
      case 2:
        return { kind: 'kill', role }
      case 3:
        return { kind: 'end', role }
      case 4:
        return { kind: 'freeze', role, forMs: between(1, 20) * SECOND }
      case 5:
      case 6:
        return {
          kind: 'another',
          role,
          forMs: between(5, 20) * SECOND,
          goes: oneOf(['kill', 'end'] as const),
        }
      case 7:
        return { kind: 'kill-broker', forMs: between(0, 5) * SECOND }
      case 8:
        return { kind: 'freeze-broker', forMs: between(1, 15) * SECOND }
      case 9:
        return { kind: 'cut-power', topic: oneOf(CUT), forMs: between(0, 5) * SECOND }
      default:
        return { kind: 'settings', change: oneOf(['off', 'on', 'remove', 'create', 'move'] as const) }
    }
  }
}

/** From a stream of their own of the seed. Each clock is off for a while, again and again, and right at the end. */
function steps(seed: number, forMs: number): Planned[] {
  const generator = xoroshiro128plus(seed)
  generator.jump()
  const between = (from: number, to: number) => uniformInt(generator, from, to)
  const planned: Planned[] = []
  const step = (at: number, role: Role, seconds: number) =>
    planned.push({ at, fault: { kind: 'step-clock', role, seconds } })
  const off = new Set<Role>()

  for (let at = 8 * SECOND; at < forMs - RIGHT_MS; at += between(3, 15) * SECOND) {
    const role = ROLES[between(0, ROLES.length - 1)] as Role
    const { least, most } = STEPS[between(0, STEPS.length - 1)] as (typeof STEPS)[number]
    const seconds = between(least, most) * (between(0, 1) === 0 ? -1 : 1)
    const isBack = off.has(role) && between(0, 2) === 0
    if (isBack) off.delete(role)
    else off.add(role)
    step(at, role, isBack ? 0 : seconds)
  }
  for (const role of off) step(forMs - RIGHT_MS, role, 0)
  return planned
}

/** How far ahead a clock is at most, in ms: what it decides on in that time may be due so much later. */
export const furthestAhead = (planned: readonly Planned[]): number =>
  Math.max(0, ...planned.map(({ fault }) => (fault.kind === 'step-clock' ? fault.seconds * SECOND : 0)))

export const lengthOf = (fault: Fault): number => ('forMs' in fault ? fault.forMs : 0)

/** On one line, for the log of a run. */
export function inWords(fault: Fault): string {
  const { kind, ...rest } = fault
  return [kind, ...Object.values(rest)].join(' ')
}
