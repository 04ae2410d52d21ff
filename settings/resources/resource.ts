import { z } from 'zod'
import { pointer } from '../../process/json-pointer.ts'
import type { Code } from '../error-codes.ts'
import type { Fault, Members } from '../faults.ts'
import type { Settings } from '../follow.ts'
import { idShape, type Kind } from '../settings.ts'

export type Facts = Pick<
  Settings,
  | 'sources'
  | 'destinations'
  | 'suppressions'
  | 'audiences'
  | 'traits'
  | 'unreadable'
  | 'lastVersion'
  | 'sourceByWriteKey'
>

/** `updatedAt`: ISO 8601 UTC. `workspaceId`: of sources and destinations. */
export type Stamp = { id: string; version: number; updatedAt: string; workspaceId?: string | undefined }

/** URLs that webhooks may not reach, with the reason. Looked up before the decision. */
export type Unreachable = ReadonlyMap<string, string>

/** Random values for records without their own. */
export type Generated = { idSuffix: string; writeKey: string; hashKey: string }

/** A kind of setting under `/api/<path>`. `G` is what a client sends, `T` the record. */
export type Resource<G extends object, T extends Stamp> = {
  kind: Kind
  path: string
  create: z.ZodType<G>
  /** Without it, a record cannot change until it is removed. */
  replace?: z.ZodType<G>
  responseShape: z.ZodObject
  /** What a workspace token may do with the records of its workspace. Without it: nothing. */
  inWorkspace?: 'read' | 'write'
  all(facts: Facts): ReadonlyMap<string, T>
  urls?(body: unknown): string[]
  newId(given: G, made: Generated): string
  build(given: G, by: { stamp: Stamp; made: Generated; old: T | undefined }): T
  /** Rules that involve other records or the clock. The body may be invalid: all faults are reported at once. */
  faults(
    body: Members,
    by: { facts: Facts; unreachable: Unreachable; old: T | undefined; now: string },
  ): Fault[]
  conflicts: Readonly<Record<'create' | 'replace' | 'remove', readonly Code[]>>
  /** What prevents its removal. */
  uses(id: string, facts: Facts): Fault[]
}

export type Replaceable<G extends object, T extends Stamp> = Resource<G, T> & { replace: z.ZodType<G> }

export const isReplaceable = <G extends object, T extends Stamp>(
  resource: Resource<G, T>,
): resource is Replaceable<G, T> => resource.replace !== undefined

export const createFields = {
  id: idShape
    .optional()
    .describe('Generated from the name if absent. It cannot change: a replacement can only repeat it.'),
}

/** Lets clients send back what a GET returned. */
export const ignored = z
  .unknown()
  .optional()
  .describe('Ignored, so that the result of a GET can be sent back.')

export const replaceFields = { ...createFields, version: ignored, updatedAt: ignored }

export const namedId = (given: { id?: string | undefined; name: string }, { idSuffix }: Generated): string =>
  given.id ?? idFor(given.name, idSuffix)

/** `Café Nord` with the suffix `a1b2` becomes `cafe-nord-a1b2`. Matches `idShape`. */
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

/** Leaves values that are no strings to the schema. */
export function unknownSource(
  id: unknown,
  { facts, path }: { facts: Pick<Facts, 'sources' | 'unreadable'>; path: readonly PropertyKey[] },
): Fault[] {
  // a source with an unreadable record exists
  if (typeof id !== 'string' || facts.sources.has(id) || facts.unreadable.has(`source/${id}`)) return []
  const message = `there is no source ${JSON.stringify(id)}: create it first, or leave it out`
  return [{ pointer: pointer(path), code: 'unknown_source', message }]
}
