import { z } from 'zod'
import { type Deletion, taskCodec } from '../../../schemas/task.ts'
import { type Fault, faultsOf, isObject } from '../../../settings/faults.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import { type Facts, unknownSource } from '../../../settings/resources/resource.ts'
import { EVERY_SOURCE, idShape, userIdShape } from '../../../settings/settings.ts'

const MOST_USERS = 5_000
/** Each takes memory in every ingest process for ever. */
const MOST_SUPPRESSIONS = 50_000
/** What a record of Kafka takes. */
const MOST_BYTES = 1_000_000

export const deletionShape = z
  .strictObject({
    id: idShape
      .optional()
      .describe(
        'Made when it is not given. With one of its own a client can repeat a request whose answer it did not get.',
      ),
    userIds: z
      .array(userIdShape)
      .min(1, 'at least one user is needed')
      .max(MOST_USERS, 'at most 5,000 users: send several requests'),
    sourceIds: z
      .array(idShape)
      .min(1, 'at least one source; leave it out for all')
      .max(1_000, 'at most 1,000 sources; leave it out for all')
      .optional()
      .describe('All sources unless told.'),
    suppress: z.boolean().default(false).describe('Drops what comes of these users from now on.'),
  })
  .meta({ id: 'NewDeletion' })

type Given = z.infer<typeof deletionShape>

/** `now`: ISO 8601 UTC. */
export type Asked = {
  body: unknown
  facts: Pick<Facts, 'sources' | 'destinations' | 'unreadable'>
  deletions: ReadonlyMap<string, Deletion>
  made: { id: string; now: string }
}

/**
 * What a deletion request comes to: a task, or all that is wrong with it. Affected are the given sources, else all, that have a
 * webhook destination which is switched on (docs/users.md, "Delete users").
 */
export function decideDeletion({
  body,
  facts,
  deletions,
  made,
}: Asked): { task: Deletion } | { refusal: Refusal } {
  const parsed = deletionShape.safeParse(body, { reportInput: true })
  const faults = [...(parsed.success ? [] : faultsOf(parsed.error)), ...unknownSources(body, facts)]
  if (!parsed.success || faults.length > 0) return { refusal: { code: 'faulty', faults } }
  const task = taskOf(parsed.data, facts, made)
  const further = [...idTaken(task.id, deletions), ...tooMuch(task)]
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
  facts: Asked['facts'],
  made: Asked['made'],
): Deletion {
  const users = [...new Set(userIds)]
  const given = sourceIds ? [...new Set(sourceIds)] : undefined
  const forwarded = forwardedSources(facts)
  const affected = (given ?? [...facts.sources.keys()]).filter((source) => forwarded?.has(source) ?? true)
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
  }
}

/**
 * The sources that have a webhook destination which is switched on. Undefined: maybe all, as nobody knows which sources a destination
 * has whose record cannot be read. An event of a source without one is routed to nobody.
 */
function forwardedSources({ destinations, unreadable }: Asked['facts']): ReadonlySet<string> | undefined {
  if ([...unreadable.values()].some(({ kind, isKept }) => kind === 'destination' && !isKept)) return undefined
  return new Set([...destinations.values()].flatMap(({ enabled, sourceIds }) => (enabled ? sourceIds : [])))
}

function idTaken(id: string, deletions: Asked['deletions']): Fault[] {
  if (!deletions.has(id)) return []
  return [
    {
      pointer: '/id',
      code: 'id_taken',
      message: `there is a deletion ${id}: it is this one, or choose another id`,
    },
  ]
}

function tooMuch(task: Deletion): Fault[] {
  const faults: Fault[] = []
  if (task.users * task.suppressedFor.length > MOST_SUPPRESSIONS)
    faults.push({
      pointer: '/suppress',
      code: 'too_many',
      message: `users times sources: at most ${MOST_SUPPRESSIONS} suppressions; leave sourceIds out to suppress the users for all sources`,
    })
  if (taskCodec.encode(task).length > MOST_BYTES)
    faults.push({
      pointer: '/userIds',
      code: 'too_large',
      message: `the ids have over ${MOST_BYTES} bytes together: send several requests`,
    })
  return faults
}
