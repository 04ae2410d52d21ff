import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { Role } from '../config.ts'

/** What an endpoint does: answers at once; 503; never; after 7 s, when nobody waits any more; resets; refuses; answers, with a body that never ends. */
const BEHAVIOURS = ['answers', 'failing', 'silent', 'late', 'reset', 'refusing', 'drip'] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

export type Fault =
  | { kind: 'kill' | 'end'; role: Role }
  | { kind: 'freeze'; role: Role; forMs: number }
  /** A further instance, for a while: partitions change hands when it comes and when it goes. */
  | { kind: 'another'; role: Role; forMs: number; goes: 'kill' | 'end' }
  | { kind: 'kill-broker'; forMs: number }
  | { kind: 'freeze-broker'; forMs: number }
  | { kind: 'settings'; change: 'off' | 'on' | 'remove' | 'create' | 'move' }
  | { kind: 'endpoint'; endpoint: number; behaviour: Behaviour }

/** `at`: ms after the beginning. */
export type Planned = { at: number; fault: Fault }

export type PlanOptions = { seed: number; forMs: number; endpoints: number }

const SECOND = 1_000
const MINUTE = 60 * SECOND
const ROLES: readonly Role[] = ['ingest', 'router', 'deliverer', 'control']

/**
 * The same faults for the same seed. Those of processes and of the broker follow one another with 2 to 10 s between, endpoints change beside them; the broker is
 * away for a minute in every tenth minute, else for seconds.
 */
export function plan({ seed, forMs, endpoints }: PlanOptions): Planned[] {
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
  return planned.toSorted((one, other) => one.at - other.at)

  function oneFault(): Fault {
    const role = oneOf(ROLES)
    switch (between(0, 9)) {
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
      default:
        return { kind: 'settings', change: oneOf(['off', 'on', 'remove', 'create', 'move'] as const) }
    }
  }
}

export const lengthOf = (fault: Fault): number => ('forMs' in fault ? fault.forMs : 0)

/** On one line, for the log of a run. */
export function inWords(fault: Fault): string {
  const { kind, ...rest } = fault
  return [kind, ...Object.values(rest)].join(' ')
}
