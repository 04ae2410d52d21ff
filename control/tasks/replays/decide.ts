import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import type { Replay } from '../../../schemas/task.ts'
import { DEAD_RETENTION, DELIVERIES_RETENTION, EVENTS_RETENTION } from '../../../schemas/topics.ts'
import { type Fault, faultsOf } from '../../../settings/faults.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { idShape } from '../../../settings/settings.ts'
import { type DeadLetter, deadReasonShape } from '../../activity/dead/dead-letter.ts'
import { idField, nameField, statusShape, userField } from '../../activity/records/query-fields.ts'
import { idTaken } from '../id-taken.ts'
import { type Conditions, conditionFaults, conditionsIn, selectDeadLetters, selectEntries } from './select.ts'

const KEPT_MS = { dead: DEAD_RETENTION, events: EVENTS_RETENTION, deliveries: DELIVERIES_RETENTION }

/** The number of records between a thousand offsets stays a safe integer. */
const entryShape = z
  .string()
  .regex(
    /^[drx]\d{1,9}-\d{1,13}$/,
    'use the id of a delivery in GET /api/deliveries, or of a dead letter in GET /api/dead',
  )

export const replayShape = z
  .strictObject({
    id: idShape
      .optional()
      .describe(
        'Generated if absent. Set one to retry safely: 409 `id_taken` means the first request succeeded. With a workspace token, it must be a UUID or 32 hexadecimal digits.',
      ),
    destinationId: idShape,
    what: z
      .enum(['dead', 'events', 'deliveries'])
      .default('dead')
      .describe(
        '`dead`: dead letters. `events`: all events of that time, as if the destination had already existed. `deliveries`: the deliveries in `entries`, whatever their state.',
      ),
    reason: deadReasonShape.optional().describe('Only dead letters with this reason.'),
    event: nameField.optional().describe('Only dead letters of events with this name.'),
    user: userField.optional().describe('Only dead letters of this userId, or anonymousId without one.'),
    status: statusShape
      .optional()
      .describe('Only dead letters with an attempt that got this HTTP status (`404`) or class (`5xx`).'),
    skipReplayed: z
      .boolean()
      .optional()
      .describe(
        'Skip dead letters that an earlier replay has sent: `GET /api/dead?replayed=false` counts the others.',
      ),
    entries: z
      .array(entryShape)
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'With `dead`: ids from `GET /api/dead`. With `deliveries`: ids from `GET /api/deliveries`; entries that a replay made (`r...`) and others (`d...`) need separate requests. Cannot be combined with `deliveryIds`, `from`, `to` or conditions such as `reason`.',
      ),
    deliveryIds: z
      .array(idField)
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Only these dead letters. If a delivery died several times, its last one; if users share its id, the last one of each. Cannot be combined with `entries`, `from`, `to` or conditions such as `reason`.',
      ),
    from: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('Start, inclusive. Default: the oldest one stored.'),
    to: z.iso.datetime({ offset: true }).optional().describe('End, exclusive. Default: now.'),
    perSecond: z
      .number()
      .min(1)
      .max(10_000)
      .default(500)
      .describe('Maximum number of deliveries per second.'),
  })
  .meta({ id: 'NewReplay' })

export type DecideParts = {
  body: unknown
  /** Those that the caller may see. */
  destinations: Facts['destinations']
  /** Of the caller's token. */
  workspaceId: string | undefined
  replays: ReadonlyMap<string, Pick<Replay, 'destinationId' | 'state'>>
  /** Oldest first. */
  dead: readonly DeadLetter[]
  now: number
}

/** Times in milliseconds since 1970. */
export type ReplayRequest = {
  id: string | undefined
  destinationId: string
  what: Replay['what']
  conditions: Conditions
  places: PartitionOffset[] | undefined
  resent: boolean
  from: number
  to: number
  perSecond: number
}

/** See docs/guides/replay.md. */
export function decideReplay({
  body,
  destinations,
  workspaceId,
  replays,
  dead,
  now,
}: DecideParts): { request: ReplayRequest } | { refusal: Refusal } {
  const parsed = replayShape.safeParse(body, { reportInput: true })
  if (!parsed.success) return { refusal: { code: 'faulty', faults: faultsOf(parsed.error, replayShape) } }
  const asked = parsed.data
  const { id, what, destinationId, perSecond } = asked
  const { from, to } = spanAsked(asked, now)
  const conditions = conditionsIn(asked)
  const letters = asked.deliveryIds && selectDeadLetters(asked, dead)
  const entries = selectEntries(asked)
  const faults: Fault[] = [
    ...destinationFaults(destinationId, destinations),
    ...(from < to ? [] : [emptySpan]),
    ...(what === 'dead' ? [] : conditionFaults(conditions)),
    ...idFaults(id, { workspaceId, destinations, replays }),
    ...(letters?.faults ?? []),
    ...entries.faults,
  ]
  if (faults.length > 0) return { refusal: { code: 'faulty', faults } }
  const places = letters?.places ?? entries.places
  const { resent } = entries
  return { request: { id, destinationId, what, conditions, places, resent, from, to, perSecond } }
}

function spanAsked({ what, deliveryIds, entries, ...asked }: z.infer<typeof replayShape>, now: number) {
  // to Kafka, negative times have a special meaning
  const oldest = deliveryIds || entries ? 0 : now - KEPT_MS[what]
  const from = asked.from ? Math.max(0, Date.parse(asked.from)) : oldest
  // future events cannot be replayed
  const to = Math.min(now, asked.to ? Date.parse(asked.to) : now)
  return { from, to }
}

const emptySpan: Fault = {
  pointer: '/from',
  code: 'invalid_value',
  message: 'must be before "to", and in the past',
}

function destinationFaults(id: string, destinations: Facts['destinations']): Fault[] {
  const destination = destinations.get(id)
  const pointer = '/destinationId'
  if (!destination)
    return [{ pointer, code: 'unknown_destination', message: `there is no destination ${id}` }]
  if (destination.enabled) return []
  const message = 'is disabled, so replayed deliveries would be cancelled: enable it first'
  return [{ pointer, code: 'destination_disabled', message }]
}

type Others = Pick<DecideParts, 'workspaceId' | 'destinations' | 'replays'>

/** A UUID, with or without hyphens. */
const UNGUESSABLE = /^[0-9a-f]{8}(-?)([0-9a-f]{4}\1){3}[0-9a-f]{12}$/

function idFaults(id: string | undefined, others: Others): Fault[] {
  // otherwise, `id_taken` for a guessed id would reveal another workspace's replay
  if (id !== undefined && others.workspaceId !== undefined && !UNGUESSABLE.test(id)) {
    const message =
      'with a workspace token, the id must be a UUID or 32 hexadecimal digits: give one, or leave it out'
    return [{ pointer: '/id', code: 'invalid_format', message }]
  }
  if (id !== undefined && others.replays.has(id)) return [idTaken('replay', id)]
  return runningFaults(others)
}

/** Per workspace: each replay may read a whole topic, and control runs a limited number of tasks at once. */
const MAX_RUNNING = 10

function runningFaults({ workspaceId, destinations, replays }: Others): Fault[] {
  if (workspaceId === undefined) return []
  const running = [...replays.values()].filter(
    ({ state, destinationId }) => state === 'accepted' && destinations.has(destinationId),
  )
  if (running.length < MAX_RUNNING) return []
  const message = `${running.length} replays are running in workspace ${workspaceId}, and no more are allowed: wait, or cancel one`
  return [{ pointer: '', code: 'too_many', message }]
}

/** Without ranges yet. `now`: ms since 1970. */
export function taskOf(
  { id = randomUUID(), conditions, places, resent, ...request }: ReplayRequest,
  now: number,
): Replay {
  return {
    ...request,
    ...conditions,
    ...(places && { places }),
    ...(resent && { resent }),
    kind: 'replay',
    id,
    createdAt: new Date(now).toISOString(),
    state: 'accepted',
    from: new Date(request.from).toISOString(),
    to: new Date(request.to).toISOString(),
    ranges: [],
    read: 0,
    replayed: 0,
    parked: 0,
  }
}
