import type { z } from 'zod'
import { isObject } from '../../process/json-objects.ts'
import { type Fault, faultsOf } from '../faults.ts'
import { restoreMasked } from '../mask.ts'
import type { Facts, Generated, Replaceable, Resource, Stamp, Unreachable } from './resource.ts'

export type Refusal =
  | { code: 'not_found'; what: string }
  /** `isKept`: its previous version is in use. */
  | { code: 'unreadable'; what: string; reason: string; isKept?: boolean }
  | { code: 'version_mismatch'; current: number }
  | { code: 'faulty'; faults: readonly Fault[] }
  | { code: 'in_use'; faults: readonly Fault[] }
  /** The resulting record is larger than Kafka takes. */
  | { code: 'too_large' }

/** `record`: what to write; `null` removes it. */
export type Decided<T> = { id: string; record: T | null; old: T | undefined } | { refusal: Refusal }

export function missing<G extends object, T extends Stamp>(
  { kind }: Pick<Resource<G, T>, 'kind'>,
  id: string,
  { unreadable }: Pick<Facts, 'unreadable'>,
): Refusal {
  const what = `${kind} ${id}`
  const reason = unreadable.get(`${kind}/${id}`)?.reason
  return reason === undefined ? { code: 'not_found', what } : { code: 'unreadable', what, reason }
}

/** Refuses to use a previous version: the newest record may have other webhooks, rules and keys. */
export function unread<G extends object, T extends Stamp>(
  { kind }: Pick<Resource<G, T>, 'kind'>,
  id: string,
  { unreadable }: Pick<Facts, 'unreadable'>,
): Refusal | undefined {
  const found = unreadable.get(`${kind}/${id}`)
  return found && { code: 'unreadable', what: `${kind} ${id}`, reason: found.reason, isKept: found.isKept }
}

/** `now`: ISO 8601 UTC. `body`: JSON, not validated. */
export type Create = { body: unknown; now: string; made: Generated; unreachable: Unreachable }
export type Replace = Create & { id: string; version: number }
export type Remove = { id: string; version: number | undefined }

export function create<G extends object, T extends Stamp>(
  resource: Resource<G, T>,
  request: Create,
  facts: Facts,
): Decided<T> {
  const { body, now, made, unreachable } = request
  const checked = check(resource, { shape: resource.create, body, old: undefined, facts, unreachable, now })
  if ('faults' in checked) return { refusal: { code: 'faulty', faults: checked.faults } }
  const id = resource.newId(checked.given, made)
  const taken = idTaken(resource, id, facts)
  if (taken.length > 0) return { refusal: { code: 'faulty', faults: taken } }
  const stamp = { id, version: firstVersion(`${resource.kind}/${id}`, facts), updatedAt: now }
  return { id, record: resource.build(checked.given, { stamp, made, old: undefined }), old: undefined }
}

/** Continues after a removed setting, so that an edit of it cannot overwrite the new one. @param key `kind/id` */
export const firstVersion = (key: string, { lastVersion }: Pick<Facts, 'lastVersion'>): number =>
  (lastVersion(key) ?? 0) + 1

export function replace<G extends object, T extends Stamp>(
  resource: Replaceable<G, T>,
  request: Replace,
  facts: Facts,
): Decided<T> {
  const { id, body, now, made, unreachable } = request
  const found = current(resource, request, facts)
  if ('refusal' in found) return found
  const { old } = found
  const checked = check(resource, { shape: resource.replace, body, old, facts, unreachable, now })
  if ('faults' in checked) return { refusal: { code: 'faulty', faults: checked.faults } }
  const stamp = { id, version: old.version + 1, updatedAt: now }
  return { id, record: resource.build(checked.given, { stamp, made, old }), old }
}

export function remove<G extends object, T extends Stamp>(
  resource: Resource<G, T>,
  request: Remove,
  facts: Facts,
): Decided<T> {
  const found = current(resource, request, facts)
  // the version of an unreadable record is unknown
  const isUnreadable = 'refusal' in found && found.refusal.code === 'unreadable'
  if ('refusal' in found && !isUnreadable) return found
  const faults = resource.uses(request.id, facts)
  if (faults.length > 0) return { refusal: { code: 'in_use', faults } }
  return { id: request.id, record: null, old: 'old' in found ? found.old : undefined }
}

function current<G extends object, T extends Stamp>(
  resource: Resource<G, T>,
  { id, version }: Remove,
  facts: Facts,
): { old: T } | { refusal: Refusal } {
  const old = resource.all(facts).get(id)
  if (!old) return { refusal: missing(resource, id, facts) }
  if (version !== undefined && version !== old.version)
    return { refusal: { code: 'version_mismatch', current: old.version } }
  return { old }
}

export type Checked<G> = { given: G } | { faults: readonly Fault[] }

export type Checking<G, T> = {
  shape: z.ZodType<G>
  body: unknown
  old: T | undefined
  facts: Facts
  unreachable: Unreachable
  now: string
}

/** Restores masked values, then validates. @returns the parsed body, or all of its faults. */
function check<G extends object, T extends Stamp>(
  resource: Resource<G, T>,
  request: Checking<G, T>,
): Checked<G> {
  const { shape, old, facts, unreachable, now } = request
  const { body, faults: masks } = restoreMasked(request.body, old)
  const parsed = shape.safeParse(body, { reportInput: true })
  // a mask without a stored value is reported once: not also as a missing field
  const masked = new Set(masks.map(({ pointer }) => pointer))
  const others = parsed.success ? [] : faultsOf(parsed.error, shape)
  const found = [...masks, ...others.filter(({ pointer }) => !masked.has(pointer))]
  // report a malformed source id once, not also as unknown
  const places = new Set(found.map(({ pointer }) => pointer))
  const rules = isObject(body)
    ? [...idFaults(resource, body.id, request), ...resource.faults(body, { facts, unreachable, old, now })]
    : []
  const faults = [...found, ...rules.filter(({ pointer }) => !places.has(pointer))]
  return parsed.success && faults.length === 0 ? { given: parsed.data } : { faults }
}

function idFaults<G extends object, T extends Stamp>(
  resource: Resource<G, T>,
  id: unknown,
  { old, facts }: Checking<G, T>,
): Fault[] {
  if (typeof id !== 'string') return []
  if (old && id !== old.id)
    return [
      {
        pointer: '/id',
        code: 'id_fixed',
        message: `the id cannot change (it is ${old.id}): create another and remove this one`,
      },
    ]
  return old ? [] : idTaken(resource, id, facts)
}

function idTaken<G extends object, T extends Stamp>(
  resource: Resource<G, T>,
  id: string,
  facts: Facts,
): Fault[] {
  if (!resource.all(facts).has(id)) return []
  return [
    {
      pointer: '/id',
      code: 'id_taken',
      message: `${resource.kind} ${id} already exists: choose another id, or replace it`,
    },
  ]
}
