import { isObject } from '../../process/json-objects.ts'
import { pointer } from '../../process/json-pointer.ts'
import type { Fault, Members } from '../faults.ts'
import type { Destination } from '../settings.ts'
import { type Facts, unknownSource } from './resource.ts'

/** Without `workspaceId`: the whole system. */
type InWorkspace = { workspaceId?: string | undefined }

/** What a caller may see: with a workspace token only the records of its workspace, otherwise all. */
export function visibleTo<T extends InWorkspace>(
  { workspaceId }: InWorkspace,
  records: ReadonlyMap<string, T>,
): ReadonlyMap<string, T> {
  if (workspaceId === undefined) return records
  return new Map([...records].filter(([, record]) => record.workspaceId === workspaceId))
}

/** The record with this id, if the caller may see it. */
export function visibleRecord<T extends InWorkspace>(
  { workspaceId }: InWorkspace,
  records: ReadonlyMap<string, T>,
  id: string,
): T | undefined {
  const record = records.get(id)
  return workspaceId === undefined || record?.workspaceId === workspaceId ? record : undefined
}

/** Whether a caller may see a delivery: with a workspace token, its destination must exist and be visible. */
export function seenBy(
  caller: InWorkspace,
  destinations: ReadonlyMap<string, Destination>,
): (of: { destinationId: string }) => boolean {
  return ({ destinationId }) =>
    caller.workspaceId === undefined || visibleRecord(caller, destinations, destinationId) !== undefined
}

/** A replacement without it stays in its workspace. */
export function workspaceOf(given: InWorkspace, old: InWorkspace | undefined): InWorkspace {
  const workspaceId = given.workspaceId ?? old?.workspaceId
  return workspaceId === undefined ? {} : { workspaceId }
}

/**
 * What a workspace token may create. Ids are generated, because whoever takes the id of a removed destination would see
 * its deliveries.
 * @param body JSON, not validated.
 */
export function createdIn(
  { workspaceId }: InWorkspace,
  body: unknown,
): { body: unknown } | { faults: Fault[] } {
  if (workspaceId === undefined || !isObject(body)) return { body }
  const faults: Fault[] = []
  if (body.id !== undefined) {
    const message = 'a workspace token cannot choose the id: leave it out to get one made from the name'
    faults.push({ pointer: '/id', code: 'id_fixed', message })
  }
  if (body.workspaceId !== undefined && body.workspaceId !== workspaceId) {
    const message = `this token is for workspace ${workspaceId}: leave workspaceId out`
    faults.push({ pointer: '/workspaceId', code: 'workspace_fixed', message })
  }
  return faults.length > 0 ? { faults } : { body: { ...body, workspaceId } }
}

/** After a move, the old workspace would lose the record, and the new one would see its deliveries. */
export function movedFaults({ workspaceId: given }: Members, old: InWorkspace | undefined): Fault[] {
  const current = old?.workspaceId
  if (current === undefined || given === undefined || given === current) return []
  const message = `the workspace cannot change (it is ${current}): create another and remove this one`
  return [{ pointer: '/workspaceId', code: 'workspace_fixed', message }]
}

/** Per workspace. Limits the work that a customer can cause per event. */
const MAX_DESTINATIONS = 100

type By = { facts: Pick<Facts, 'sources' | 'destinations' | 'unreadable'>; old: Destination | undefined }

/** @returns faults of `workspaceId` and `sourceIds`. */
export function workspaceFaults(body: Members, { facts, old }: By): Fault[] {
  const workspaceId = old?.workspaceId ?? body.workspaceId
  const sourceIds: unknown[] = Array.isArray(body.sourceIds) ? body.sourceIds : []
  const foreign = sourceIds.flatMap((id, index) =>
    sourceFaults(id, { workspaceId, facts, old, path: ['sourceIds', index] }),
  )
  return [...movedFaults(body, old), ...countFaults(workspaceId, { facts, old }), ...foreign]
}

type BySource = By & { workspaceId: unknown; path: readonly PropertyKey[] }

function sourceFaults(id: unknown, { workspaceId, facts, old, path }: BySource): Fault[] {
  if (workspaceId === undefined) return unknownSource(id, { facts, path })
  if (typeof id !== 'string' || facts.sources.get(id)?.workspaceId === workspaceId) return []
  // the workspace of an unreadable source is unknown
  if (facts.unreadable.has(`source/${id}`) && old?.sourceIds.includes(id)) return []
  const message = `workspace ${workspaceId} has no source ${JSON.stringify(id)}: leave it out`
  return [{ pointer: pointer(path), code: 'unknown_source', message }]
}

function countFaults(workspaceId: unknown, { facts, old }: By): Fault[] {
  if (typeof workspaceId !== 'string' || old?.workspaceId === workspaceId) return []
  const { size } = visibleTo({ workspaceId }, facts.destinations)
  if (size < MAX_DESTINATIONS) return []
  const message = `workspace ${workspaceId} has ${size} destinations, and at most ${MAX_DESTINATIONS} are allowed: remove one first`
  return [{ pointer: '/workspaceId', code: 'too_many', message }]
}
