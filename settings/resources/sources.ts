import type { z } from 'zod'
import { isObject } from '../../process/json-objects.ts'
import type { Fault, Members } from '../faults.ts'
import { type Source, sourceShape, storedSource } from '../settings.ts'
import { createFields, type Facts, namedId, type Replaceable, replaceFields } from './resource.ts'
import { isPast, movedSecret, rotationFaults, WRITE_KEY } from './secret-rotation.ts'
import { movedFaults, workspaceOf } from './workspaces.ts'

type GivenSource = z.infer<typeof sourceShape> & { id?: string | undefined }

/** For new settings; a stored source with more can still be read. */
const MAX_LABELS = 64

export const sources: Replaceable<GivenSource, Source> = {
  kind: 'source',
  path: 'sources',
  create: sourceShape.extend(createFields).meta({ id: 'NewSource' }),
  replace: sourceShape.extend(replaceFields).meta({ id: 'SourceReplacement' }),
  responseShape: storedSource.meta({ id: 'Source' }),
  inWorkspace: 'read',
  all: (facts) => facts.sources,
  newId: namedId,

  build: ({ writeKey, previousWriteKey, previousWriteKeyExpiresAt, ...given }, { stamp, made, old }) => ({
    ...given,
    ...workspaceOf(given, old),
    ...stamp,
    ...keysFor(
      // a replacement without a write key keeps the old one: a new key would lock out every client
      {
        writeKey: writeKey ?? old?.writeKey ?? made.writeKey,
        ...(previousWriteKey !== undefined && { previousWriteKey }),
        ...(previousWriteKeyExpiresAt !== undefined && { previousWriteKeyExpiresAt }),
      },
      { old, now: stamp.updatedAt },
    ),
  }),

  conflicts: {
    create: ['id_taken', 'write_key_taken'],
    replace: ['write_key_taken'],
    remove: ['source_in_use'],
  },

  faults: (body, { facts, old, now }) => [
    ...takenFaults('writeKey', body, { facts, old }),
    ...takenFaults('previousWriteKey', body, { facts, old }),
    ...sameKeyFaults(body, old),
    ...rotationFaults({ ...body, writeKey: body.writeKey ?? old?.writeKey }, { old, now }, WRITE_KEY),
    ...labelFaults(body.labels),
    ...movedFaults(body, old),
    ...(old ? [] : foreignFaults(body, facts)),
    ...sharedNoticesFaults(body, old),
    ...(old && old.kind !== 'notices' && body.kind === 'notices' ? noticesFaults(old.id, facts) : []),
  ],

  // suppressions stay: they are the users' wish, and apply again to a new source with this id
  uses(id, facts) {
    return [
      ...connectedTo(id, facts.destinations).map(
        (user) => `destination ${user.id} is connected to it: disconnect it first`,
      ),
      ...belonging(id, facts).map((user) => `${user} belongs to it: remove it first`),
    ].map((message): Fault => ({ pointer: '', code: 'source_in_use', message }))
  },
}

/** Audiences and traits. */
function belonging(id: string, { audiences, traits }: Pick<Facts, 'audiences' | 'traits'>): string[] {
  const of = (all: Facts['audiences']) => [...all.values()].filter(({ sourceId }) => sourceId === id)
  return [
    ...of(audiences).map((user) => `audience ${user.id}`),
    ...of(traits).map((user) => `trait ${user.id}`),
  ]
}

const noticesFaults = (id: string, facts: Pick<Facts, 'audiences' | 'traits'>): Fault[] =>
  belonging(id, facts).map((user) => ({
    pointer: '/kind',
    code: 'notices_only',
    message: `${user} belongs to this source, and a source of notices has only the calls of Sluice itself: remove it first`,
  }))

/** For a new source: destinations may still be connected to an unreadable one with the same id. */
function foreignFaults({ id, workspaceId }: Members, { destinations }: Pick<Facts, 'destinations'>): Fault[] {
  const foreign = connectedTo(id, destinations).filter(
    (each) => each.workspaceId !== undefined && each.workspaceId !== workspaceId,
  )
  return foreign.map((each) => ({
    pointer: '/workspaceId',
    code: 'workspace_fixed',
    message: `destination ${each.id} of workspace ${each.workspaceId} is connected to a source with this id: choose another id or this workspace`,
  }))
}

const connectedTo = (id: unknown, destinations: Facts['destinations']) =>
  [...destinations.values()].filter(({ sourceIds }) => sourceIds.some((each) => each === id))

function sharedNoticesFaults(body: Members, old: Source | undefined): Fault[] {
  if (body.kind !== 'notices' || (body.workspaceId ?? old?.workspaceId) === undefined) return []
  const message =
    'a source of notices cannot belong to a workspace, because its calls name the webhooks of all workspaces'
  return [{ pointer: '/workspaceId', code: 'no_workspace', message }]
}

type Keys = Pick<Source, 'writeKey' | 'previousWriteKey' | 'previousWriteKeyExpiresAt'>

/** @param by.now ISO 8601 UTC. */
function keysFor(given: Keys, { old, now }: { old: Source | undefined; now: string }): Keys {
  const previousWriteKey = movedSecret(given, old, WRITE_KEY)
  if (previousWriteKey !== undefined) return { ...given, previousWriteKey }
  const isLeftOut = given.previousWriteKey === undefined && given.previousWriteKeyExpiresAt === undefined
  if (!isLeftOut || given.writeKey !== old?.writeKey || isPast(old.previousWriteKeyExpiresAt, now))
    return given
  const { previousWriteKey: kept, previousWriteKeyExpiresAt: until } = old
  if (kept === undefined || until === undefined) return given
  return { ...given, previousWriteKey: kept, previousWriteKeyExpiresAt: until }
}

/** An expired key stays taken: another source with it would get the calls of old clients. */
function takenFaults(
  name: 'writeKey' | 'previousWriteKey',
  body: Members,
  { facts, old }: { facts: Pick<Facts, 'sourceByWriteKey'>; old: Source | undefined },
): Fault[] {
  const key = body[name]
  const owner = typeof key === 'string' ? facts.sourceByWriteKey(key) : undefined
  if (!owner || owner.id === old?.id) return []
  const isCurrent = owner.writeKey === key
  const message = `source ${owner.id} has this ${isCurrent ? '' : 'previous '}write key: choose another, leave it out, or give source ${owner.id} another write key first`
  return [{ pointer: `/${name}`, code: 'write_key_taken', message }]
}

function sameKeyFaults({ writeKey, previousWriteKey }: Members, old: Source | undefined): Fault[] {
  if (previousWriteKey === undefined || previousWriteKey !== (writeKey ?? old?.writeKey)) return []
  const message = 'is also the current write key: leave it out, or send a new writeKey'
  return [{ pointer: '/previousWriteKey', code: 'duplicate_value', message }]
}

function labelFaults(labels: unknown): Fault[] {
  const count = isObject(labels) ? Object.keys(labels).length : 0
  if (count <= MAX_LABELS) return []
  return [
    { pointer: '/labels', code: 'too_many', message: `at most ${MAX_LABELS} labels; there are ${count}` },
  ]
}
