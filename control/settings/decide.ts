import type { Refusal } from '../http/refusal.ts'
import { check, idTaken } from './check.ts'
import type { Facts, Made, Noun, Replaceable, Stamp, Unreachable } from './noun.ts'

/** What a write comes to: the record to write, `null` to remove it, and what there was before; or why not. */
export type Decided<T> = { id: string; record: T | null; old: T | undefined } | { refusal: Refusal }

/** Why there is none to answer with: there is none at all, or it cannot be read. */
export function missing<G extends object, T extends Stamp>(
  { kind }: Pick<Noun<G, T>, 'kind'>,
  id: string,
  { unreadable }: Pick<Facts, 'unreadable'>,
): Refusal {
  const what = `${kind} ${id}`
  const reason = unreadable.get(`${kind}/${id}`)?.reason
  return reason === undefined ? { code: 'not_found', what } : { code: 'unreadable', what, reason }
}

/** `now`: ISO 8601 UTC. `body`: JSON, unchecked. */
export type Create = { body: unknown; now: string; made: Made; unreachable: Unreachable }
export type Replace = Create & { id: string; version: number }
/** Without `version`: whichever it is at. */
export type Remove = { id: string; version: number | undefined }

export function create<G extends object, T extends Stamp>(
  noun: Noun<G, T>,
  asked: Create,
  facts: Facts,
): Decided<T> {
  const { body, now, made, unreachable } = asked
  const checked = check(noun, { shape: noun.create, body, old: undefined, facts, unreachable, now })
  if ('faults' in checked) return { refusal: { code: 'faulty', faults: checked.faults } }
  const id = noun.newId(checked.given, made)
  const taken = idTaken(noun, id, facts)
  if (taken.length > 0) return { refusal: { code: 'faulty', faults: taken } }
  const stamp = { id, version: 1, updatedAt: now }
  return { id, record: noun.build(checked.given, { stamp, made, old: undefined }), old: undefined }
}

export function replace<G extends object, T extends Stamp>(
  noun: Replaceable<G, T>,
  asked: Replace,
  facts: Facts,
): Decided<T> {
  const { id, body, now, made, unreachable } = asked
  const found = current(noun, asked, facts)
  if ('refusal' in found) return found
  const { old } = found
  const checked = check(noun, { shape: noun.replace, body, old, facts, unreachable, now })
  if ('faults' in checked) return { refusal: { code: 'faulty', faults: checked.faults } }
  const stamp = { id, version: old.version + 1, updatedAt: now }
  return { id, record: noun.build(checked.given, { stamp, made, old }), old }
}

export function remove<G extends object, T extends Stamp>(
  noun: Noun<G, T>,
  asked: Remove,
  facts: Facts,
): Decided<T> {
  const found = current(noun, asked, facts)
  // of what nobody can read nobody knows the version either
  const isUnreadable = 'refusal' in found && found.refusal.code === 'unreadable'
  if ('refusal' in found && !isUnreadable) return found
  const faults = noun.uses(asked.id, facts)
  if (faults.length > 0) return { refusal: { code: 'in_use', faults } }
  return { id: asked.id, record: null, old: 'old' in found ? found.old : undefined }
}

function current<G extends object, T extends Stamp>(
  noun: Noun<G, T>,
  { id, version }: Remove,
  facts: Facts,
): { old: T } | { refusal: Refusal } {
  const old = noun.all(facts).get(id)
  if (!old) return { refusal: missing(noun, id, facts) }
  if (version !== undefined && version !== old.version)
    return { refusal: { code: 'version_mismatch', current: old.version } }
  return { old }
}
