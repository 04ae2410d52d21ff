import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { Role } from '../settings/config-key.ts'

/**
 * In this order: answers at once; 503; never answers; answers after 7 s, beyond the timeout; resets the connection;
 * refuses it; endless body; sometimes 404, 410 or 301; endless chunk extensions; endless 1xx; a second answer without a
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
  /** One more instance for a while. Partitions are reassigned when it starts and stops. */
  | { kind: 'another'; role: Role; forMs: number; goes: 'kill' | 'end' }
  | { kind: 'kill-broker'; forMs: number }
  | { kind: 'freeze-broker'; forMs: number }
  | { kind: 'kill-registry'; forMs: number }
  /** Ingest takes the storage for full. */
  | { kind: 'fill-storage'; forMs: number }
  /** What the topic got in this time before the cut is lost. */
  | { kind: 'cut-power'; topic: CutTopic; forMs: number }
  /** Sets a role's wall clock to this offset in seconds. A further instance has the real time. */
  | { kind: 'step-clock'; role: Role; seconds: number }
  | { kind: 'settings'; change: 'off' | 'on' | 'pause' | 'remove' | 'move' }
  | { kind: 'endpoint'; endpoint: number; behaviour: Behaviour }

/** `retries`: the rungs and `deliveries.due`. */
const CUT = ['events', 'deliveries', 'retries'] as const
export type CutTopic = (typeof CUT)[number]

/** `at`: ms after the start. */
export type Planned = { at: number; fault: Fault }

export type PlanOptions = {
  seed: number
  forMs: number
  endpoints: number
  /** Whether clocks can change. The other faults of a seed stay the same. */
  clocks: boolean
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const ROLES: readonly Role[] = ['ingest', 'router', 'deliverer', 'control']

/** Offsets in seconds: about the wait for a retry, and longer than anything in a run. */
const STEPS = [
  { least: 1, most: 30 },
  { least: 60, most: 600 },
] as const
/** All clocks are correct for this long at the end. */
const RIGHT_MS = 5 * SECOND

/**
 * The same seed gives the same faults. Faults of processes and the broker follow one another 2 to 10 s apart; endpoints
 * change beside them. Once in ten minutes the broker is down for a minute.
 */
export function plan({ seed, forMs, endpoints, clocks }: PlanOptions): Planned[] {
  const random = randomOf(xoroshiro128plus(seed))
  const { between, oneOf } = random
  const planned: Planned[] = []

  let awayAt = 2 * MINUTE + between(0, 60) * SECOND
  for (let at = 5 * SECOND; at < forMs; at += between(2, 10) * SECOND) {
    const isAway = at >= awayAt && at + MINUTE < forMs
    const fault: Fault = isAway ? { kind: 'kill-broker', forMs: MINUTE } : oneFault(random)
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
}

type Random = ReturnType<typeof randomOf>

function randomOf(generator: ReturnType<typeof xoroshiro128plus>) {
  const between = (from: number, to: number) => uniformInt(generator, from, to)
  /** @param choices at least one */
  const oneOf = <T>(choices: readonly T[]): T => choices[between(0, choices.length - 1)] as T
  return { between, oneOf }
}

function oneFault({ between, oneOf }: Random): Fault {
  const role = oneOf(ROLES)
  switch (between(0, 12)) {
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
    case 10:
      return { kind: 'kill-registry', forMs: between(1, 30) * SECOND }
    case 11:
      return { kind: 'fill-storage', forMs: between(2, 15) * SECOND }
    default:
      return { kind: 'settings', change: oneOf(['off', 'on', 'pause', 'remove', 'move'] as const) }
  }
}

/** From a separate random stream. Each clock is wrong for a while several times, and correct at the end. */
function steps(seed: number, forMs: number): Planned[] {
  const generator = xoroshiro128plus(seed)
  generator.jump()
  const { between, oneOf } = randomOf(generator)
  const planned: Planned[] = []
  const step = (at: number, role: Role, seconds: number) =>
    planned.push({ at, fault: { kind: 'step-clock', role, seconds } })
  const off = new Set<Role>()

  for (let at = 8 * SECOND; at < forMs - RIGHT_MS; at += between(3, 15) * SECOND) {
    const role = oneOf(ROLES)
    const { least, most } = oneOf(STEPS)
    const seconds = between(least, most) * (between(0, 1) === 0 ? -1 : 1)
    const isBack = off.has(role) && between(0, 2) === 0
    if (isBack) off.delete(role)
    else off.add(role)
    step(at, role, isBack ? 0 : seconds)
  }
  for (const role of off) step(forMs - RIGHT_MS, role, 0)
  return planned
}

/** The furthest that a clock is ahead, in ms. What is decided under it may be due that much later. */
export const furthestAhead = (planned: readonly Planned[]): number =>
  Math.max(0, ...planned.map(({ fault }) => (fault.kind === 'step-clock' ? fault.seconds * SECOND : 0)))

export const lengthOf = (fault: Fault): number => ('forMs' in fault ? fault.forMs : 0)

export function inWords(fault: Fault): string {
  const { kind, ...rest } = fault
  return [kind, ...Object.values(rest)].join(' ')
}
