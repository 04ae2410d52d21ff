import type { z } from 'zod'
import type { Fault } from '../http/answer.ts'
import { faultsOf } from '../http/faults.ts'
import { keepMasked } from './keep.ts'
import { isObject } from './members.ts'
import type { Facts, Noun, Stamp, Unreachable } from './noun.ts'

export type Checked<G> = { given: G } | { faults: readonly Fault[] }

export type Checking<G, T> = {
  shape: z.ZodType<G>
  body: unknown
  old: T | undefined
  facts: Facts
  unreachable: Unreachable
  /** ISO 8601 UTC. */
  now: string
}

/** A body with its masks replaced, in its shape and by the rules between records; or everything that is wrong with it. */
export function check<G extends object, T extends Stamp>(
  noun: Noun<G, T>,
  asked: Checking<G, T>,
): Checked<G> {
  const { shape, old, facts, unreachable, now } = asked
  const { body, faults: masks } = keepMasked(asked.body, old)
  const parsed = shape.safeParse(body, { reportInput: true })
  const found = [...masks, ...(parsed.success ? [] : faultsOf(parsed.error))]
  // a malformed id of a source is not an unknown one as well
  const places = new Set(found.map(({ pointer }) => pointer))
  const rules = isObject(body)
    ? [...idFaults(noun, body.id, asked), ...noun.faults(body, { facts, unreachable, old, now })]
    : []
  const faults = [...found, ...rules.filter(({ pointer }) => !places.has(pointer))]
  return parsed.success && faults.length === 0 ? { given: parsed.data } : { faults }
}

/** A new record's id is free; an old one's stays. */
function idFaults<G extends object, T extends Stamp>(
  noun: Noun<G, T>,
  id: unknown,
  { old, facts }: Checking<G, T>,
): Fault[] {
  if (typeof id !== 'string') return []
  if (old && id !== old.id)
    return [
      {
        pointer: '/id',
        code: 'id_fixed',
        message: `ids stay: this is ${old.id}; create another and remove this one`,
      },
    ]
  return old ? [] : idTaken(noun, id, facts)
}

export function idTaken<G extends object, T extends Stamp>(
  noun: Noun<G, T>,
  id: string,
  facts: Facts,
): Fault[] {
  if (!noun.all(facts).has(id)) return []
  return [
    {
      pointer: '/id',
      code: 'id_taken',
      message: `there is a ${noun.kind} ${id}: choose another id, or replace that one`,
    },
  ]
}
