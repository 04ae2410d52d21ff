import { z } from 'zod'
import { isObject } from '../process/json-objects.ts'
import { idShape } from '../settings/settings.ts'
import type { Codec } from './codec.ts'
import { DEAD, DELIVERIES, DUE, EVENTS } from './topics.ts'

/**
 * Control's background work: JSON in topic `tasks` under the key `kind/id`. The last record of a key states its
 * progress. A finished task contains no user ids.
 */

const cause = z
  .strictObject({ code: z.string(), message: z.string() })
  .describe('Why it failed, or was cancelled without a request.')

const stored = {
  id: idShape,
  createdAt: z.string().describe('ISO 8601 UTC.'),
  finishedAt: z.string().optional().describe('ISO 8601 UTC.'),
  cause: cause.optional(),
}

export const deletionTask = z.object({
  ...stored,
  kind: z.literal('deletion'),
  state: z.enum(['accepted', 'done', 'failed']),
  users: z.number().int().nonnegative().describe('Number of distinct users.'),
  deletes: z
    .number()
    .int()
    .nonnegative()
    .describe('Events of type `delete`: one for each user in each of `sourceIds`.'),
  sourceIds: z
    .array(z.string())
    .describe('The affected sources: those requested that have an enabled destination.'),
  /** Sources in which the users are suppressed; `*`: all. */
  suppressedFor: z.array(z.string()),
  userIds: z.array(z.string()),
  /** Makes the message ids unguessable. Deletions of an earlier version have none. */
  salt: z.string().optional(),
})

/** Offsets, `to` not included. */
const range = z.object({ partition: z.number().int(), from: z.number().int(), to: z.number().int() })
const ranges = z.array(range)
const place = z.object({ partition: z.number().int(), offset: z.number().int() })

/** In users. */
export const counts = z.object({
  changed: z.number().int().nonnegative().describe('Users who are new, or whose value changed.'),
  removed: z.number().int().nonnegative().describe('Users who left, or whose value was removed.'),
  unchanged: z.number().int().nonnegative().describe('Users in the upload without a change.'),
  suppressed: z
    .number()
    .int()
    .nonnegative()
    .describe('Users with a change that is not sent, because they are suppressed.'),
})

export const syncTask = z.object({
  ...stored,
  kind: z.literal('sync'),
  state: z
    .enum(['accepted', 'done', 'cancelled', 'failed'])
    .describe(
      '`cancelled`: by request, because the audience or trait was removed, or because the sync would remove too many (`cause`).',
    ),
  of: z.object({ kind: z.enum(['audience', 'trait']), id: idShape }),
  /**
   * When the audience or trait was created, because its id may be reused. Absent: it was removed, and its users are
   * forgotten.
   */
  since: z.string().optional(),
  /** Users that the upload does not name. `forgotten`: removed without an event. */
  others: z.enum(['removed', 'stay', 'forgotten']),
  /** Of topic `uploads`; the records have the task's id as their key. */
  ranges,
  lines: z.number().int().nonnegative().describe('Lines in the upload that name a user.'),
  skipped: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('Lines that could not be used, and were left out because of `skipInvalid`.'),
  /** It ends without effect if it would remove more than a tenth of the members or values. */
  refusesManyRemovals: z.literal(true).optional(),
  counts: counts.optional(),
  /** As for deletions. */
  salt: z.string().optional(),
})

const NOTED = 'may lag by a few seconds, and be slightly too low after a crash'

export const replayTask = z.object({
  ...stored,
  kind: z.literal('replay'),
  state: z.enum(['accepted', 'done', 'cancelled', 'failed']),
  destinationId: idShape,
  what: z.enum(['dead', 'events', 'deliveries']),
  reason: z.string().optional().describe('Only dead letters with this reason.'),
  event: z.string().optional().describe('Only dead letters of events with this name.'),
  user: z.string().optional().describe('Only dead letters of this user.'),
  status: z
    .string()
    .optional()
    .describe('Only dead letters with an attempt that got this HTTP status or class.'),
  skipReplayed: z.boolean().optional().describe('Skips dead letters that an earlier replay has sent.'),
  /** For `deliveries`: whether they come from a replay, so from `deliveries.due`. */
  resent: z.boolean().optional(),
  /** Records that were chosen one by one. Absent: all in the ranges. */
  places: z.array(place).optional(),
  /** What a cancelled replay has read. Absent: maybe nothing. */
  done: ranges.optional(),
  from: z.string().describe('ISO 8601 UTC, inclusive.'),
  to: z.string().describe('ISO 8601 UTC, exclusive.'),
  perSecond: z.number().describe('Maximum number of deliveries per second.'),
  ranges,
  read: z.number().int().nonnegative().default(0).describe(`Records read so far: ${NOTED}.`),
  replayed: z.number().int().nonnegative().default(0).describe(`Deliveries made so far: ${NOTED}.`),
  parked: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe(
      'Records that could not be replayed, and were parked in topic `parked`. Not included in `read`.',
    ),
})

export type Deletion = z.infer<typeof deletionTask>
export type Sync = z.infer<typeof syncTask>
export type Counts = z.infer<typeof counts>
export type Replay = z.infer<typeof replayTask>
export type Cause = z.infer<typeof cause>
export type Task = Deletion | Sync | Replay

export const TASK_KINDS = ['deletion', 'sync', 'replay'] as const satisfies readonly Task['kind'][]

/** The topic that a replay reads. */
export function topicOf({ what, resent = false }: Pick<Replay, 'what' | 'resent'>): string {
  if (what === 'deliveries') return resent ? DUE : DELIVERIES
  return what === 'dead' ? DEAD : EVENTS
}

const taskShape = z.discriminatedUnion('kind', [deletionTask, syncTask, replayTask])

export const taskKey = ({ kind, id }: Pick<Task, 'kind' | 'id'>) => `${kind}/${id}`

const TEXTS = { sourceIds: z.string(), suppressedFor: z.string(), userIds: z.string() }
const ELEMENTS = Object.entries({ ...TEXTS, ranges: range, done: range, places: place })

/** Checked first, as Zod would report each of them: for 1 MB of zeros, that took 7 s and 0.7 GB. */
function hasWrongElement(record: unknown): boolean {
  if (!isObject(record)) return false
  return ELEMENTS.some(([name, shape]) => {
    const list = record[name]
    return Array.isArray(list) && list.some((each) => !shape.safeParse(each).success)
  })
}

export const taskCodec: Codec<Task> = {
  encode: (task) => Buffer.from(JSON.stringify(task)),
  decode(value) {
    try {
      const record: unknown = JSON.parse(value?.toString() ?? '')
      if (hasWrongElement(record)) throw new Error('a list has a wrong element')
      return { ok: true, value: taskShape.parse(record) }
    } catch (error) {
      return { ok: false, reason: 'undecodable', message: error instanceof Error ? error.message : 'no JSON' }
    }
  },
}
