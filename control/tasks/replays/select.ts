import type { Range } from '../../../kafka/tables/ranges.ts'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import type { Replay } from '../../../schemas/task.ts'
import type { Fault } from '../../../settings/faults.ts'
import type { DeadLetter } from '../../activity/dead/dead-letter.ts'

/** Of dead letters. */
export type Conditions = Pick<Replay, (typeof CONDITIONS)[number]>
const CONDITIONS = ['reason', 'event', 'user', 'status', 'skipReplayed'] as const

export const conditionsIn = (given: Conditions): Conditions =>
  Object.fromEntries(CONDITIONS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])))

const invalid = (pointer: string, message: string): Fault => ({ pointer, code: 'invalid_value', message })

/** Of a replay of anything but dead letters. */
export const conditionFaults = (conditions: Conditions): Fault[] =>
  Object.keys(conditions).map((name) =>
    invalid(
      `/${name}`,
      name === 'reason'
        ? 'only dead letters have a reason: leave it out'
        : 'it selects dead letters: leave it out',
    ),
  )

type Asked = Conditions & {
  destinationId: string
  what: Replay['what']
  deliveryIds?: string[] | undefined
  entries?: string[] | undefined
  from?: string | undefined
  to?: string | undefined
}

/** @param dead oldest first. */
export function selectDeadLetters(
  { deliveryIds = [], destinationId, what, ...others }: Asked,
  dead: readonly DeadLetter[],
): { places: PartitionOffset[]; faults: Fault[] } {
  const faults = notWith('deliveryIds', others)
  if (what !== 'dead') faults.push(invalid('/deliveryIds', 'only dead letters can be selected with it'))
  const known = Map.groupBy(
    dead.filter((letter) => letter.destinationId === destinationId),
    ({ deliveryId }) => deliveryId,
  )
  const selected = new Set<DeadLetter>()
  for (const [index, id] of deliveryIds.entries()) {
    const letters = known.get(id)
    // users whose calls share a messageId share a deliveryId; of each, the newest letter stays
    const newest = new Map(letters?.map((letter) => [letter.user, letter]))
    for (const letter of newest.values()) selected.add(letter)
    if (!letters)
      faults.push({
        pointer: `/deliveryIds/${index}`,
        code: 'unknown_delivery',
        message: `there is no dead letter ${id} of ${destinationId} among the last 100,000: replay by time instead`,
      })
  }
  const places = [...selected].map(({ partition, offset }) => ({ partition, offset }))
  return { places, faults }
}

const notWith = (list: string, given: Pick<Asked, 'from' | 'to' | keyof Conditions>): Fault[] =>
  (['from', 'to', ...CONDITIONS] as const)
    .filter((name) => given[name] !== undefined)
    .map((name) => invalid(`/${name}`, `cannot be combined with ${list}: leave it out`))

type Entries = { places: PartitionOffset[] | undefined; resent: boolean; faults: Fault[] }

/** `resent`: see schemas/task.ts. Reading shows whether the records are there. */
export function selectEntries({ entries, ...asked }: Omit<Asked, 'destinationId'>): Entries {
  const { what } = asked
  if (!entries) {
    const faults = what === 'deliveries' ? [invalid('/entries', 'name the deliveries to send again')] : []
    return { places: undefined, resent: false, faults }
  }
  const resent = entries[0]?.startsWith('r') === true
  const places = new Map(entries.map((id) => [id, placeOf(id)]))
  return { places: [...places.values()], resent, faults: entryFaults(entries, { ...asked, resent }) }
}

function placeOf(id: string): PartitionOffset {
  const [partition = 0, offset = 0] = id.slice(1).split('-').map(Number)
  return { partition, offset }
}

function entryFaults(
  entries: readonly string[],
  { what, deliveryIds, resent, from, to, ...conditions }: Omit<Asked, 'destinationId'> & { resent: boolean },
): Fault[] {
  if (what === 'events')
    return [invalid('/entries', 'only deliveries and dead letters can be selected with it')]
  const isDead = what === 'dead'
  const begins = isDead ? 'x' : resent ? 'r' : 'd'
  const wrong = (id: string) => {
    if (isDead) return 'is a delivery: take the id from GET /api/dead (x...)'
    if (id.startsWith('x')) return 'is a dead letter: send "what": "dead"'
    return 'entries that a replay made (r...) and others (d...) need a request of their own'
  }
  return [
    ...(deliveryIds ? [invalid('/entries', 'cannot be combined with deliveryIds: leave it out')] : []),
    ...notWith('entries', { from, to, ...(isDead && conditions) }),
    ...entries.flatMap((id, index) =>
      id.startsWith(begins) ? [] : [invalid(`/entries/${index}`, wrong(id))],
    ),
  ]
}

export function spanOf(places: readonly PartitionOffset[]): Range[] {
  const byPartition = Map.groupBy(places, ({ partition }) => partition)
  return [...byPartition].map(([partition, inPartition]) => {
    const offsets = inPartition.map(({ offset }) => offset)
    return { partition, from: Math.min(...offsets), to: Math.max(...offsets) + 1 }
  })
}
