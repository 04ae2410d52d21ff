import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Range } from '../../../kafka/tables/ranges.ts'
import type { Replay } from '../../../schemas/task.ts'
import { type Fault, faultsOf } from '../../../settings/faults.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { idShape } from '../../../settings/settings.ts'
import { type DeadLetter, deadReasonShape } from '../../activity/dead/dead-letter.ts'
import { idField } from '../../activity/recent-records.ts'

const DAY_MS = 24 * 60 * 60_000
/** As long as topics keep them. */
const KEPT_MS = { dead: 14 * DAY_MS, events: 7 * DAY_MS }

export const replayShape = z
  .strictObject({
    id: idShape
      .optional()
      .describe(
        'Made when it is not given. With one of its own a client can repeat a request whose answer it did not get.',
      ),
    destinationId: idShape,
    what: z
      .enum(['dead', 'events'])
      .default('dead')
      .describe('`dead`: what was given up. `events`: what came in, as if the destination had been there.'),
    reason: deadReasonShape.optional().describe('Of dead letters: those alone that were given up for it.'),
    deliveryIds: z
      .array(idField)
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'These dead letters alone; of one that was given up several times the last. Without from, to and reason.',
      ),
    from: z.iso.datetime({ offset: true }).optional().describe('The oldest that is kept, unless told.'),
    to: z.iso.datetime({ offset: true }).optional().describe('This time is not included. Now, unless told.'),
    perSecond: z.number().min(1).max(10_000).default(500).describe('At most so many deliveries are made.'),
  })
  .meta({ id: 'NewReplay' })

export type Asked = {
  body: unknown
  destinations: Facts['destinations']
  replays: ReadonlyMap<string, unknown>
  /** Those that are known, oldest first. */
  dead: readonly DeadLetter[]
  /** Milliseconds since 1970. */
  now: number
}

/** What a replay is asked to be; times in milliseconds since 1970. */
export type Wanted = {
  id: string | undefined
  destinationId: string
  what: 'dead' | 'events'
  reason: string | undefined
  /** Where the dead letters are that were chosen. */
  places: Place[] | undefined
  from: number
  to: number
  perSecond: number
}

/** What a replay request comes to (docs/replay.md), or all that is wrong with it. */
export function decideReplay({
  body,
  destinations,
  replays,
  dead,
  now,
}: Asked): { wanted: Wanted } | { refusal: Refusal } {
  const parsed = replayShape.safeParse(body, { reportInput: true })
  if (!parsed.success) return { refusal: { code: 'faulty', faults: faultsOf(parsed.error) } }
  const { id, what, reason, destinationId, perSecond, deliveryIds } = parsed.data
  // below zero a time means something else to Kafka
  const oldest = deliveryIds ? 0 : now - KEPT_MS[what]
  const from = parsed.data.from ? Math.max(0, Date.parse(parsed.data.from)) : oldest
  // what has not come in yet cannot be read again
  const to = Math.min(now, parsed.data.to ? Date.parse(parsed.data.to) : now)
  const faults: Fault[] = [...destinationFaults(destinationId, destinations)]
  if (from >= to)
    faults.push({ pointer: '/from', code: 'invalid_value', message: 'is to be before "to", and in the past' })
  if (what === 'events' && reason !== undefined)
    faults.push({
      pointer: '/reason',
      code: 'invalid_value',
      message: 'only dead letters have one: leave it out',
    })
  if (id !== undefined && replays.has(id))
    faults.push({
      pointer: '/id',
      code: 'id_taken',
      message: `there is a replay ${id}: it is this one, or choose another id`,
    })
  const chosen = deliveryIds && choose(parsed.data, dead)
  if (chosen) faults.push(...chosen.faults)
  if (faults.length > 0) return { refusal: { code: 'faulty', faults } }
  return { wanted: { id, destinationId, what, reason, places: chosen?.places, from, to, perSecond } }
}

function destinationFaults(id: string, destinations: Facts['destinations']): Fault[] {
  const destination = destinations.get(id)
  const pointer = '/destinationId'
  if (!destination)
    return [{ pointer, code: 'unknown_destination', message: `there is no destination ${id}` }]
  if (destination.enabled) return []
  const message = 'is switched off, and what is replayed would be cancelled: switch it on first'
  return [{ pointer, code: 'destination_disabled', message }]
}

/** Where a dead letter lies in its topic. */
export type Place = Pick<DeadLetter, 'partition' | 'offset'>

type Naming = {
  destinationId: string
  what: 'dead' | 'events'
  deliveryIds?: string[] | undefined
  from?: string | undefined
  to?: string | undefined
  reason?: string | undefined
}

/** The dead letters that are named, or what is wrong with naming them. */
export function choose(
  { deliveryIds = [], destinationId, what, ...others }: Naming,
  dead: readonly DeadLetter[],
): { places: Place[]; faults: Fault[] } {
  const faults: Fault[] = (['from', 'to', 'reason'] as const)
    .filter((name) => others[name] !== undefined)
    .map((name) => ({
      pointer: `/${name}`,
      code: 'invalid_value',
      message: 'deliveryIds says already which: leave it out',
    }))
  if (what !== 'dead')
    faults.push({
      pointer: '/deliveryIds',
      code: 'invalid_value',
      message: 'only dead letters are chosen by it',
    })
  // oldest first: of one delivery the last stays
  const known = new Map(
    dead
      .filter((letter) => letter.destinationId === destinationId)
      .map((letter) => [letter.deliveryId, letter]),
  )
  const chosen = new Set<DeadLetter>()
  for (const [index, id] of deliveryIds.entries()) {
    const letter = known.get(id)
    if (letter) chosen.add(letter)
    else
      faults.push({
        pointer: `/deliveryIds/${index}`,
        code: 'unknown_delivery',
        message: `there is no dead letter ${id} of ${destinationId} among the last 100,000: replay by time`,
      })
  }
  const places = [...chosen].map(({ partition, offset }) => ({ partition, offset }))
  return { places, faults }
}

/** What is wanted, as it is written; where its records are is still to be found. `now`: ms since 1970. */
export function taskOf({ id = randomUUID(), reason, places, ...wanted }: Wanted, now: number): Replay {
  return {
    ...wanted,
    ...(reason !== undefined && { reason }),
    ...(places && { places }),
    kind: 'replay',
    id,
    createdAt: new Date(now).toISOString(),
    state: 'accepted',
    from: new Date(wanted.from).toISOString(),
    to: new Date(wanted.to).toISOString(),
    ranges: [],
    read: 0,
    replayed: 0,
    parked: 0,
  }
}

/** Of each partition one range that has them all. */
export function spanning(places: readonly Place[]): Range[] {
  const byPartition = Map.groupBy(places, ({ partition }) => partition)
  return [...byPartition].map(([partition, among]) => {
    const offsets = among.map(({ offset }) => offset)
    return { partition, from: Math.min(...offsets), to: Math.max(...offsets) + 1 }
  })
}
