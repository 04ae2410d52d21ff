import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Range } from '../../../kafka/tables/ranges.ts'
import type { Replay } from '../../../schemas/task.ts'
import { type Fault, faultsOf } from '../../../settings/faults.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { idShape } from '../../../settings/settings.ts'
import { type DeadLetter, deadReasonShape } from '../../activity/dead/dead-letter.ts'
import { statusShape } from '../../activity/deliveries/http-status.ts'
import { entryIdShape, entryOf } from '../../activity/deliveries/listed.ts'
import { nameField, userField } from '../../activity/events/matches.ts'
import { idField } from '../../activity/recent-records.ts'

const DAY_MS = 24 * 60 * 60_000
/** Retention of the topics. */
const KEPT_MS = { dead: 14 * DAY_MS, events: 7 * DAY_MS, deliveries: 3 * DAY_MS }

export const replayShape = z
  .strictObject({
    id: idShape
      .optional()
      .describe(
        'Generated if absent. Set one to retry safely: 409 `id_taken` means the first request succeeded.',
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
      .array(entryIdShape)
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'With `deliveries`: ids from `GET /api/deliveries`. Entries that a replay made (`r...`) and others (`d...`) need separate requests.',
      ),
    deliveryIds: z
      .array(idField)
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Only these dead letters. If a delivery died several times, its last one. Cannot be combined with from, to and conditions such as reason.',
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
  destinations: Facts['destinations']
  replays: ReadonlyMap<string, unknown>
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
  places: Place[] | undefined
  resent: boolean
  from: number
  to: number
  perSecond: number
}

/** Conditions on dead letters. */
export type Conditions = Pick<Replay, (typeof CONDITIONS)[number]>
const CONDITIONS = ['reason', 'event', 'user', 'status', 'skipReplayed'] as const

/** See docs/guides/replay.md. */
export function decideReplay({
  body,
  destinations,
  replays,
  dead,
  now,
}: DecideParts): { request: ReplayRequest } | { refusal: Refusal } {
  const parsed = replayShape.safeParse(body, { reportInput: true })
  if (!parsed.success) return { refusal: { code: 'faulty', faults: faultsOf(parsed.error) } }
  const { id, what, destinationId, perSecond, deliveryIds, entries } = parsed.data
  // to Kafka, negative times have a special meaning
  const oldest = deliveryIds || entries ? 0 : now - KEPT_MS[what]
  const from = parsed.data.from ? Math.max(0, Date.parse(parsed.data.from)) : oldest
  // future events cannot be replayed
  const to = Math.min(now, parsed.data.to ? Date.parse(parsed.data.to) : now)
  const faults: Fault[] = [...destinationFaults(destinationId, destinations)]
  if (from >= to)
    faults.push({ pointer: '/from', code: 'invalid_value', message: 'must be before "to", and in the past' })
  const conditions = conditionsIn(parsed.data)
  if (what !== 'dead')
    for (const name of Object.keys(conditions))
      faults.push({
        pointer: `/${name}`,
        code: 'invalid_value',
        message:
          name === 'reason'
            ? 'only dead letters have a reason: leave it out'
            : 'it selects dead letters: leave it out',
      })
  if (id !== undefined && replays.has(id))
    faults.push({
      pointer: '/id',
      code: 'id_taken',
      message: `replay ${id} already exists. If you are retrying, your first request succeeded; otherwise choose another id`,
    })
  const selected = deliveryIds && selectDeadLetters(parsed.data, dead)
  if (selected) faults.push(...selected.faults)
  const chosen = selectEntries(parsed.data)
  faults.push(...chosen.faults)
  if (faults.length > 0) return { refusal: { code: 'faulty', faults } }
  const places = selected?.places ?? chosen.places
  const { resent } = chosen
  return { request: { id, destinationId, what, conditions, places, resent, from, to, perSecond } }
}

const conditionsIn = (given: Conditions): Conditions =>
  Object.fromEntries(CONDITIONS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])))

function destinationFaults(id: string, destinations: Facts['destinations']): Fault[] {
  const destination = destinations.get(id)
  const pointer = '/destinationId'
  if (!destination)
    return [{ pointer, code: 'unknown_destination', message: `there is no destination ${id}` }]
  if (destination.enabled) return []
  const message = 'is disabled, so replayed deliveries would be cancelled: enable it first'
  return [{ pointer, code: 'destination_disabled', message }]
}

export type Place = Pick<DeadLetter, 'partition' | 'offset'>

type Selection = Conditions & {
  destinationId: string
  what: Replay['what']
  deliveryIds?: string[] | undefined
  from?: string | undefined
  to?: string | undefined
}

export function selectDeadLetters(
  { deliveryIds = [], destinationId, what, ...others }: Selection,
  dead: readonly DeadLetter[],
): { places: Place[]; faults: Fault[] } {
  const faults: Fault[] = notWith('deliveryIds', others)
  if (what !== 'dead')
    faults.push({
      pointer: '/deliveryIds',
      code: 'invalid_value',
      message: 'needs "what": "dead"',
    })
  // oldest first, so of one delivery the last stays
  const known = new Map(
    dead
      .filter((letter) => letter.destinationId === destinationId)
      .map((letter) => [letter.deliveryId, letter]),
  )
  const selected = new Set<DeadLetter>()
  for (const [index, id] of deliveryIds.entries()) {
    const letter = known.get(id)
    if (letter) selected.add(letter)
    else
      faults.push({
        pointer: `/deliveryIds/${index}`,
        code: 'unknown_delivery',
        message: `there is no dead letter ${id} of ${destinationId} among the last 100,000: replay by time instead`,
      })
  }
  const places = [...selected].map(({ partition, offset }) => ({ partition, offset }))
  return { places, faults }
}

const notWith = (list: string, given: Omit<Selection, 'destinationId' | 'what'>): Fault[] =>
  (['from', 'to', ...CONDITIONS] as const)
    .filter((name) => given[name] !== undefined)
    .map((name) => ({
      pointer: `/${name}`,
      code: 'invalid_value',
      message: `cannot be combined with ${list}: leave it out`,
    }))

/** `resent`: see schemas/task.ts. A record that does not exist is noticed only when it is read. */
export function selectEntries({
  what,
  entries,
  deliveryIds,
  ...others
}: Omit<Selection, 'destinationId'> & { entries?: string[] | undefined }): {
  places: Place[] | undefined
  resent: boolean
  faults: Fault[]
} {
  const fault = (pointer: string, message: string): Fault => ({ pointer, code: 'invalid_value', message })
  if (!entries) {
    const faults = what === 'deliveries' ? [fault('/entries', 'name the deliveries to send again')] : []
    return { places: undefined, resent: false, faults }
  }
  const places = entries.flatMap((id) => entryOf(id) ?? [])
  const resent = places[0]?.routed === false
  const faults: Fault[] = []
  if (what === 'deliveries') faults.push(...notWith('entries', { from: others.from, to: others.to }))
  else faults.push(fault('/entries', 'needs "what": "deliveries"'))
  for (const [index, { routed }] of places.entries())
    if (routed === resent)
      faults.push(
        fault(
          `/entries/${index}`,
          'entries that a replay made (r...) and others (d...) need separate requests',
        ),
      )
  const unique = new Map(
    places.map(({ partition, offset }) => [`${partition}/${offset}`, { partition, offset }]),
  )
  return { places: [...unique.values()], resent, faults }
}

/** The ranges are still to be found. `now`: ms since 1970. */
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

/** For each partition, one range that covers all places. */
export function spanOf(places: readonly Place[]): Range[] {
  const byPartition = Map.groupBy(places, ({ partition }) => partition)
  return [...byPartition].map(([partition, inPartition]) => {
    const offsets = inPartition.map(({ offset }) => offset)
    return { partition, from: Math.min(...offsets), to: Math.max(...offsets) + 1 }
  })
}
