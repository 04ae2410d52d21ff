import { z } from 'zod'
import type { Code } from '../error-codes.ts'
import { type Fault, type Members, pointer } from '../faults.ts'
import type { Settings } from '../follow.ts'
import { idShape, type Kind } from '../settings.ts'

/** What is known when a write is decided. */
export type Facts = Pick<
  Settings,
  'sources' | 'destinations' | 'suppressions' | 'audiences' | 'traits' | 'unreadable' | 'sourceByWriteKey'
>

/** What every record has. `updatedAt`: ISO 8601 UTC. */
export type Stamp = { id: string; version: number; updatedAt: string }

/** Of the URLs that a body names, those that webhooks may not reach now, each with the reason. Looked up beforehand. */
export type Unreachable = ReadonlyMap<string, string>

/** Made of randomness beforehand, for a record that does not bring its own. */
export type Generated = { idSuffix: string; writeKey: string }

/**
 * One kind of setting, as the API offers it under `/api/<path>`: `G` is what a client gives of it, `T` the record. A further
 * kind is one more value of this type.
 */
export type Resource<G extends object, T extends Stamp> = {
  kind: Kind
  path: string
  create: z.ZodType<G>
  /** Without it a record stays as it was created, until it is removed. */
  replace?: z.ZodType<G>
  /** As it is answered. */
  responseShape: z.ZodObject
  all(facts: Facts): ReadonlyMap<string, T>
  /** What a body, whose shape nobody has checked yet, would have webhooks reach. */
  urls?(body: unknown): string[]
  /** The id of a new record. */
  newId(given: G, made: Generated): string
  /** The record that comes of what was given; `old` is the one it replaces. */
  build(given: G, by: { stamp: Stamp; made: Generated; old: T | undefined }): T
  /** Rules between records, and with the clock. The body's shape may be faulty as well: all faults are told at once. */
  faults(
    body: Members,
    by: { facts: Facts; unreachable: Unreachable; old: T | undefined; now: string },
  ): Fault[]
  /** The codes of what other records can have against a write. */
  conflicts: Readonly<Record<'create' | 'replace' | 'remove', readonly Code[]>>
  /** What stands against removing it. */
  uses(id: string, facts: Facts): Fault[]
}

export type Replaceable<G extends object, T extends Stamp> = Resource<G, T> & { replace: z.ZodType<G> }

export const isReplaceable = <G extends object, T extends Stamp>(
  resource: Resource<G, T>,
): resource is Replaceable<G, T> => resource.replace !== undefined

export const createFields = {
  id: idShape
    .optional()
    .describe('Made of the name when it is not given. It stays: a replacement can only repeat it.'),
}

/** What a GET has answered can be sent back. */
export const ignored = z.unknown().optional().describe('Taken as a GET answers it, and ignored.')

/** With what the server counts up itself. */
export const replaceFields = { ...createFields, version: ignored, updatedAt: ignored }

/** The client's own id, else one made of the name. */
export const namedId = (given: { id?: string | undefined; name: string }, { idSuffix }: Generated): string =>
  given.id ?? idFor(given.name, idSuffix)

/** An id that says what it names: `Café Nord` and the suffix `a1b2` make `cafe-nord-a1b2`. Fits the shape of ids. */
export function idFor(name: string, suffix: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64 - suffix.length - 1)
    .replace(/^-+|-+$/g, '')
  return slug ? `${slug}-${suffix}` : suffix
}

/** What is wrong with the id of a source in a record that speaks of it. What is no string its shape refuses. */
export function unknownSource(
  id: unknown,
  { facts, path }: { facts: Pick<Facts, 'sources' | 'unreadable'>; path: readonly PropertyKey[] },
): Fault[] {
  // one whose record cannot be read is there
  if (typeof id !== 'string' || facts.sources.has(id) || facts.unreadable.has(`source/${id}`)) return []
  const message = `there is no source ${JSON.stringify(id)}: create it first, or do not name it`
  return [{ pointer: pointer(path), code: 'unknown_source', message }]
}
