import { z } from 'zod'
import { isObject } from '../../../process/json-objects.ts'
import { type Deletion, taskCodec } from '../../../schemas/task.ts'
import { type Fault, faultsOf } from '../../../settings/faults.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import { type Facts, unknownSource } from '../../../settings/resources/resource.ts'
import { EVERY_SOURCE, idShape, userIdShape } from '../../../settings/settings.ts'
import { idTaken } from '../id-taken.ts'

const MAX_USERS = 5_000
/** Each suppression takes memory in every ingest process, forever. */
const MAX_SUPPRESSIONS = 50_000
/** Of a record in Kafka. */
const MAX_BYTES = 1_000_000

export const deletionShape = z
  .strictObject({
    id: idShape
      .optional()
      .describe(
        'Generated if absent. Set one to retry safely: 409 `id_taken` means the first request succeeded.',
      ),
    userIds: z
      .array(userIdShape)
      .min(1, 'at least one user is needed')
      .max(MAX_USERS, 'at most 5,000 users: send several requests'),
    sourceIds: z
      .array(idShape)
      .min(1, 'at least one source; leave it out for all')
      .max(1_000, 'at most 1,000 sources; leave it out for all')
      .optional()
      .describe('Default: all sources.'),
    suppress: z.boolean().default(false).describe('Also drops future calls of these users.'),
  })
  .meta({ id: 'NewDeletion' })

type Given = z.infer<typeof deletionShape>

/** `now`: ISO 8601 UTC. */
export type DeletionRequest = {
  body: unknown
  facts: Pick<Facts, 'sources' | 'destinations' | 'unreadable'>
  deletions: ReadonlyMap<string, Deletion>
  made: { id: string; now: string; salt: string }
}

/**
 * Affects the given sources (default: all) that have an enabled destination (docs/guides/deletions.md).
 */
export function decideDeletion({
  body,
  facts,
  deletions,
  made,
}: DeletionRequest): { task: Deletion } | { refusal: Refusal } {
  const parsed = deletionShape.safeParse(body, { reportInput: true })
  const faults = [
    ...(parsed.success ? [] : faultsOf(parsed.error, deletionShape)),
    ...unknownSources(body, facts),
  ]
  if (!parsed.success || faults.length > 0) return { refusal: { code: 'faulty', faults } }
  const task = taskOf(parsed.data, facts, made)
  const further = [...(deletions.has(task.id) ? [idTaken('deletion', task.id)] : []), ...sizeFaults(task)]
  return further.length > 0 ? { refusal: { code: 'faulty', faults: further } } : { task }
}

function unknownSources(body: unknown, facts: Pick<Facts, 'sources' | 'unreadable'>): Fault[] {
  if (!isObject(body) || !Array.isArray(body.sourceIds)) return []
  return body.sourceIds.flatMap((id: unknown, index) =>
    idShape.safeParse(id).success ? unknownSource(id, { facts, path: ['sourceIds', index] }) : [],
  )
}

function taskOf(
  { id, userIds, sourceIds, suppress }: Given,
  facts: DeletionRequest['facts'],
  made: DeletionRequest['made'],
): Deletion {
  const users = [...new Set(userIds)]
  const given = sourceIds ? [...new Set(sourceIds)] : undefined
  const forwarded = forwardedSources(facts)
  const affected = (given ?? [...facts.sources.keys()]).filter(
    (source) => (forwarded?.has(source) ?? true) && facts.sources.get(source)?.kind !== 'notices',
  )
  return {
    kind: 'deletion',
    id: id ?? made.id,
    state: 'accepted',
    createdAt: made.now,
    users: users.length,
    deletes: users.length * affected.length,
    sourceIds: affected,
    suppressedFor: suppress ? (given ?? [EVERY_SOURCE]) : [],
    userIds: users,
    salt: made.salt,
  }
}

/** Undefined, meaning all, if a destination's record cannot be read. Events of other sources are routed nowhere. */
function forwardedSources({
  destinations,
  unreadable,
}: DeletionRequest['facts']): ReadonlySet<string> | undefined {
  if ([...unreadable.values()].some(({ kind, isKept }) => kind === 'destination' && !isKept)) return undefined
  return new Set([...destinations.values()].flatMap(({ enabled, sourceIds }) => (enabled ? sourceIds : [])))
}

function sizeFaults(task: Deletion): Fault[] {
  const faults: Fault[] = []
  if (task.users * task.suppressedFor.length > MAX_SUPPRESSIONS)
    faults.push({
      pointer: '/suppress',
      code: 'too_many',
      message: `users times sources: at most ${MAX_SUPPRESSIONS} suppressions; leave sourceIds out to suppress the users for all sources`,
    })
  if (taskCodec.encode(task).length > MAX_BYTES)
    faults.push({
      pointer: '/userIds',
      code: 'too_large',
      message: `the ids take more than ${MAX_BYTES} bytes in total: send several requests`,
    })
  return faults
}
