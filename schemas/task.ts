import { z } from 'zod'
import type { Codec } from './codec.ts'
import { idShape } from './settings.ts'

/**
 * What control does in the background after it has answered: JSON in topic `tasks`, under the key `kind/id`. The last record of
 * a key says how far it is. One that is done holds no ids of users any more.
 */

/** Times are ISO 8601 UTC. */
const stored = { id: idShape, createdAt: z.string(), finishedAt: z.string().optional() }

export const deletionTask = z.object({
  ...stored,
  kind: z.literal('deletion'),
  state: z.enum(['accepted', 'done']),
  /** How many users, and how many events of type delete: one for each of them and each source. */
  users: z.number().int().nonnegative(),
  deletes: z.number().int().nonnegative(),
  sourceIds: z.array(z.string()),
  /** The sources for which the users are suppressed; `*` is all of them. Empty: they are not. */
  suppressedFor: z.array(z.string()),
  userIds: z.array(z.string()),
})

/** Offsets: from the first to the one behind the last. */
const ranges = z.array(
  z.object({ partition: z.number().int(), from: z.number().int(), to: z.number().int() }),
)

/** What has come of a comparison, in users. `suppressed`: there was something to tell, but of them nothing is told. */
export const counts = z.object({
  changed: z.number().int().nonnegative(),
  removed: z.number().int().nonnegative(),
  unchanged: z.number().int().nonnegative(),
  suppressed: z.number().int().nonnegative(),
})

export const syncTask = z.object({
  ...stored,
  kind: z.literal('sync'),
  /** `cancelled`: what it is of was removed meanwhile. */
  state: z.enum(['accepted', 'done', 'cancelled']),
  of: z.object({ kind: z.enum(['audience', 'trait']), id: idShape }),
  /** Of users whom the upload does not name: they are removed, they stay, or all are forgotten and nobody is told. */
  others: z.enum(['removed', 'stay', 'forgotten']),
  /** Where in topic `uploads` the upload is; the records with this task's id as their key are its. */
  ranges,
  /** Users named in the upload. */
  lines: z.number().int().nonnegative(),
  counts: counts.optional(),
})

export const replayTask = z.object({
  ...stored,
  kind: z.literal('replay'),
  state: z.enum(['accepted', 'done', 'cancelled']),
  destinationId: idShape,
  what: z.enum(['dead', 'events']),
  /** Of dead letters: those alone that died of it. */
  reason: z.string().optional(),
  /** Where those dead letters are that were chosen one by one; without it all of the ranges are meant. */
  places: z.array(z.object({ partition: z.number().int(), offset: z.number().int() })).optional(),
  /** Times of the records: from the first to before the second. */
  from: z.string(),
  to: z.string(),
  /** At most so many deliveries are made in a second. */
  perSecond: z.number(),
  ranges,
})

/** How far a task is: records that it has read, and deliveries that it has made of them. */
export const progressNote = z.object({
  ...stored,
  kind: z.literal('progress'),
  state: z.literal('noted'),
  read: z.number().int().nonnegative(),
  replayed: z.number().int().nonnegative(),
})

export type Deletion = z.infer<typeof deletionTask>
export type Sync = z.infer<typeof syncTask>
export type Counts = z.infer<typeof counts>
export type Replay = z.infer<typeof replayTask>
export type Progress = z.infer<typeof progressNote>
/** What there is to do. */
export type Task = Deletion | Sync | Replay
/** What topic `tasks` holds. */
export type TaskRecord = Task | Progress

const taskShape = z.discriminatedUnion('kind', [deletionTask, syncTask, replayTask, progressNote])

export const taskKey = ({ kind, id }: Pick<TaskRecord, 'kind' | 'id'>) => `${kind}/${id}`

export const taskCodec: Codec<TaskRecord> = {
  encode: (task) => Buffer.from(JSON.stringify(task)),
  decode(value) {
    try {
      return { ok: true, value: taskShape.parse(JSON.parse(value?.toString() ?? '')) }
    } catch (error) {
      return { ok: false, reason: 'undecodable', message: error instanceof Error ? error.message : 'no JSON' }
    }
  },
}
